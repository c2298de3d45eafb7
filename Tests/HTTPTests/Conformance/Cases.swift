/// Bytes for both servers, and what becomes of them. A valid request follows them on the same connection, so an accepted
/// case ends in one 200 more, and bytes that the two would frame differently show.
struct ConformanceCase: Sendable, CustomStringConvertible {
    let name: String
    let bytes: [UInt8]
    var description: String { name }

    init(_ name: String, _ text: String) {
        self.name = name
        bytes = Array(text.utf8)
    }
}

/// Where nginx says something else, on purpose.
struct ConformanceDeviation: Sendable, CustomStringConvertible {
    let item: ConformanceCase
    let ours: [Int]
    let nginx: [Int]
    let reason: String
    var description: String { "\(item.name): \(reason)" }

    init(_ name: String, _ text: String, ours: [Int], nginx: [Int], _ reason: String) {
        item = ConformanceCase(name, text)
        self.ours = ours
        self.nginx = nginx
        self.reason = reason
    }
}

private let get = "GET / HTTP/1.1\r\nHost: x\r\n"
private let post = "POST /body HTTP/1.1\r\nHost: x\r\n"
private let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"
private func times(_ count: Int, _ text: String = "a") -> String { String(repeating: text, count: count) }

extension ConformanceCase {
    /// Both say the same.
    static let agreed: [ConformanceCase] = [
        // Valid.
        .init("plain GET", get + "\r\n"),
        .init("HEAD", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("empty line first", "\r\n" + get + "\r\n"),
        .init("unknown method", "PURGE_IT / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("query and escapes", "GET /a%20b/c?d=%2F&e HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("absolute form", "GET http://x:80/a?b HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("absolute form without path", "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n"),
        .init("HTTP/1.0 closes", "GET / HTTP/1.0\r\n\r\n"),
        .init("HTTP/1.0 kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
        .init("close", get + "Connection: close\r\n\r\n"),
        .init("empty value", get + "A:\r\n\r\n"),
        .init("blanks around a value", get + "A: \t b \t\r\n\r\n"),
        .init("bytes beyond ASCII in a value", get + "A: \u{e9}\r\n\r\n"),
        .init("many tokens in Connection", get + "Connection: a, b\r\n\r\n"),
        .init("body by length", post + "Content-Length: 3\r\n\r\nabc"),
        .init("length 0", post + "Content-Length: 0\r\n\r\n"),
        .init("length with zeros before it", post + "Content-Length: 003\r\n\r\nabc"),
        .init("no length is no body", post + "\r\n"),
        .init("GET with a body", get + "Content-Length: 3\r\n\r\nabc"),
        .init("chunked", chunked + "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"),
        .init("chunked with an extension", chunked + "3;a=\"b\"\r\nabc\r\n0\r\n\r\n"),
        .init("chunked with a trailer", chunked + "3\r\nabc\r\n0\r\nT: v\r\n\r\n"),
        .init("chunked, empty", chunked + "0\r\n\r\n"),
        .init("chunked in capitals", post + "Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n"),
        .init("unknown expectation", get + "Expect: something\r\n\r\n"),
        .init("two pipelined", get + "\r\n" + post + "Content-Length: 1\r\n\r\na"),
        // Cut off in the middle: no answer.
        .init("header without its end", get),
        .init("body without its end", post + "Content-Length: 1000\r\n\r\na"),
        // Request line.
        .init("method in small letters", "get / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("method with a bad character", "G@T / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("blank before the method", " GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("TLS to a plain port", "\u{16}\u{3}\u{1}\u{2}\u{0}"),
        .init("target without slash", "GET a HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("asterisk form", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("authority form", "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("CONNECT", "CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("TRACE", "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("absolute form without host", "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("user in the absolute form", "GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("control character in the target", "GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("blank in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("bad escape", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("NUL escaped", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("above the root", "GET /../a HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("above the root, escaped", "GET /%2e%2e/a HTTP/1.1\r\nHost: x\r\n\r\n"),
        .init("version 2.0", "GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
        .init("version 11.0", "GET / HTTP/11.0\r\nHost: x\r\n\r\n"),
        .init("version 0.9 by name", "GET / HTTP/0.9\r\nHost: x\r\n\r\n"),
        .init("version in small letters", "GET / http/1.1\r\nHost: x\r\n\r\n"),
        .init("version cut off", "GET / HTTP/1\r\nHost: x\r\n\r\n"),
        .init("request line too long", "GET /\(times(9000)) HTTP/1.1\r\nHost: x\r\n\r\n"),
        // Header.
        .init("no Host", "GET / HTTP/1.1\r\n\r\n"),
        .init("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        .init("two Hosts", get + "Host: y\r\n\r\n"),
        .init("blank in Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        .init("slash in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        .init("blank before the colon", get + "A : b\r\n\r\n"),
        .init("tab before the colon", get + "A\t: b\r\n\r\n"),
        .init("blank in a name", get + "A B: c\r\n\r\n"),
        .init("no name", get + ": b\r\n\r\n"),
        .init("NUL in a value", get + "A: b\0c\r\n\r\n"),
        .init("NUL in a name", get + "A\0: b\r\n\r\n"),
        .init("folded", get + "A: b\r\n c\r\n\r\n"),
        .init("folded by a tab", get + "A: b\r\n\tc\r\n\r\n"),
        .init("first line blank", "GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
        .init("CR in a value", get + "A: b\rc\r\n\r\n"),
        // Framing.
        .init("length and chunked", post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        .init("chunked and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
        .init("two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        .init("the same length twice", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        .init("list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc"),
        .init("length with a sign", post + "Content-Length: +3\r\n\r\nabc"),
        .init("negative length", post + "Content-Length: -3\r\n\r\nabc"),
        .init("hexadecimal length", post + "Content-Length: 0x3\r\n\r\nabc"),
        .init("empty length", post + "Content-Length:\r\n\r\n"),
        .init("length beyond 64 bits", post + "Content-Length: 99999999999999999999\r\n\r\n"),
        .init("length beyond the limit", post + "Content-Length: 300000\r\n\r\n"),
        .init("xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        .init("gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        .init("identity", post + "Transfer-Encoding: identity\r\n\r\n"),
        .init("chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        .init("chunked with HTTP/1.0", "POST /body HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        .init("chunk size no number", chunked + "g\r\n"),
        .init("chunk size empty", chunked + "\r\nabc\r\n0\r\n\r\n"),
        .init("chunk size with a sign", chunked + "+3\r\nabc\r\n0\r\n\r\n"),
        .init("chunk size with 0x", chunked + "0x3\r\nabc\r\n0\r\n\r\n"),
        .init("chunk longer than it says", chunked + "3\r\nabcd\r\n0\r\n\r\n"),
        .init("chunk shorter than it says", chunked + "5\r\nabc\r\n0\r\n\r\n"),
        .init("chunk size beyond 64 bits", chunked + "11111111111111111\r\nabc\r\n0\r\n\r\n"),
        .init("chunk beyond the limit", chunked + "FFFFFF\r\nabc\r\n0\r\n\r\n"),
        .init("two expectations", get + "Expect: a\r\nExpect: b\r\n\r\n"),
        .init("two Authorizations", get + "Authorization: a\r\nAuthorization: b\r\n\r\n"),
    ]
}

extension ConformanceDeviation {
    /// nginx is laxer, or says it by another number; we are stricter on purpose. Where a server behind a proxy and the
    /// proxy read the same bytes differently, requests get smuggled: so what RFC 9112 allows a server to refuse is refused.
    static let all: [ConformanceDeviation] = [
        .init(
            "bare line feeds", "GET / HTTP/1.1\nHost: x\n\n", ours: [400], nginx: [200, 200],
            "some read a bare LF as data and see another request"),
        .init(
            "bare line feed after a field", get + "A: b\n\r\n", ours: [400], nginx: [200, 200],
            "some read a bare LF as data and see another request"),
        .init(
            "CR CR LF", get + "A: b\r\r\n\r\n", ours: [400], nginx: [200, 200],
            "a bare CR is no line end (RFC 9112 2.2)"),
        .init(
            "line feeds first", "\n\n" + get + "\r\n", ours: [400], nginx: [200, 200],
            "only an empty line of CR LF is to be ignored"),
        .init(
            "two blanks before the target", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "the grammar has one blank"),
        .init(
            "blank after the version", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "the grammar has none"),
        .init("HTTP/0.9", "GET /\r\n", ours: [400], nginx: [], "nobody speaks it any more"),
        .init(
            "HTTP/1.10", "GET / HTTP/1.10\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "a version has one digit on each side"),
        .init(
            "bytes beyond ASCII in the target", "GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400],
            nginx: [200, 200], "they have to be escaped (RFC 3986)"),
        .init(
            "fragment in the target", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "a fragment is never sent"),
        .init(
            "dot segments below the root", "GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "we do not rewrite paths, and none of ours has such a segment"),
        .init(
            "escaped dot segment", "GET /a/%2e/b HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "we do not rewrite paths, and none of ours has such a segment"),
        .init(
            "another scheme", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "nothing here is reached by it"),
        .init(
            "bad escape in the query", "GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", ours: [400], nginx: [200, 200],
            "whoever decodes it later could only guess"),
        .init("line without colon", get + "A\r\n\r\n", ours: [400], nginx: [200, 200], "it is no field"),
        .init(
            "bad character in a name", get + "A(: b\r\n\r\n", ours: [400], nginx: [200, 200],
            "nginx drops such a field silently; we say so"),
        .init(
            "control character in a value", get + "A: \u{1}\r\n\r\n", ours: [400], nginx: [200, 200],
            "RFC 9110 5.5 has none, and logs should not carry them"),
        .init(
            "at sign in Host", "GET / HTTP/1.1\r\nHost: u@x\r\n\r\n", ours: [400], nginx: [200, 200],
            "a host has no user part"),
        .init(
            "field too large", get + "A: \(times(20_000))\r\n\r\n", ours: [431], nginx: [400],
            "RFC 6585 has a code for it; nginx's own page says the same under 400"),
        .init(
            "too many fields", get + times(120, "A: b\r\n") + "\r\n", ours: [431], nginx: [200, 200],
            "nginx bounds bytes only; each field costs more than its bytes"),
        .init(
            "blank after a chunk size", chunked + "3 \r\nabc\r\n0\r\n\r\n", ours: [400], nginx: [200, 200],
            "a known seam of smuggling"),
        .init(
            "bare line feed after a chunk size", chunked + "3\nabc\r\n0\r\n\r\n", ours: [400], nginx: [200, 200],
            "a known seam of smuggling"),
        .init(
            "bare line feed after a chunk", chunked + "3\r\nabc\n0\r\n\r\n", ours: [400], nginx: [200, 200],
            "a known seam of smuggling"),
        .init(
            "control character in an extension", chunked + "3;\u{1}\r\nabc\r\n0\r\n\r\n", ours: [400],
            nginx: [200, 200], "the grammar has none"),
        .init(
            "extension too long", chunked + "3;\(times(2000))\r\nabc\r\n0\r\n\r\n", ours: [400], nginx: [200, 200],
            "work for nothing; bounded as everything is"),
        .init(
            "malformed trailer", chunked + "0\r\nA : b\r\n\r\n", ours: [400], nginx: [200, 200],
            "a trailer is a field like any other"),
    ]
}
