import TestSupport
import Testing

@testable import HTTP

/// What a parser makes of a stream: a line for each event.
private func verdict(of pieces: [ArraySlice<UInt8>], bodyLimit: Int = 64) -> [String] {
    var parser = RequestParser(limits: .init(requestLineBytes: 256, headerBytes: 512, headerCount: 8), peer: "peer")
    var lines: [String] = []
    for piece in pieces {
        let piece = Array(piece)
        parser.receive(piece.span)
        reading: while true {
            switch parser.next() {
            case .needMore: break reading
            case .head(let head, let traits):
                lines.append("head \(head.method) \(head.path)?\(head.query ?? "-") \(traits)")
                parser.admitBody(upTo: bodyLimit)
            case .request(let request, _):
                let fields = request.headers.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
                lines.append("request \(fields) \(String(decoding: request.body, as: UTF8.self))")
            case .refused(let refusal):
                lines.append("refused \(refusal.status) \(refusal.reason)")
                return lines
            }
        }
    }
    return lines
}

private func verdict(of text: String, bodyLimit: Int = 64) -> [String] {
    verdict(of: [Array(text.utf8)[...]], bodyLimit: bodyLimit)
}

private func refusal(of text: String, bodyLimit: Int = 64) -> String? {
    verdict(of: text, bodyLimit: bodyLimit).last { $0.hasPrefix("refused") }.map { String($0.dropFirst(8)) }
}

@Suite struct ParserTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n"

    @Test func aRequestIsTakenApart() throws {
        var parser = RequestParser(peer: "192.0.2.7")
        parser.receive(
            Array("POST /v1/a%20b?x=1&y HTTP/1.1\r\nhost: h:1\r\nX-A:  b c \t\r\nContent-Length: 2\r\n\r\nhi".utf8).span
        )
        guard case .head(let head, let traits) = parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(traits == .init(framing: .length(2)))
        #expect(head.headers["HOST"] == "h:1")
        parser.admitBody(upTo: 2)
        guard case .request(let request, _) = parser.next() else {
            Issue.record("no request")
            return
        }
        #expect(request.method == "POST")
        #expect(request.path == "/v1/a%20b")
        #expect(request.query == "x=1&y")
        #expect(request.head.segments == ["v1", "a b"])
        #expect(request.head.queryValue("x") == "1")
        #expect(request.head.queryValue("y") == "")
        #expect(request.head.queryValue("z") == nil)
        #expect(request.headers["x-a"] == "b c")
        #expect(request.peer == "192.0.2.7")
        #expect(request.body == Array("hi".utf8))
    }

    @Test func pipelinedRequestsComeOutInOrder() {
        let lines = verdict(
            of: Self.get + "\r\n" + "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb" + Self.get + "\r\n")
        check(lines.filter { $0.hasPrefix("head") }.map { $0.split(separator: " ")[2] } == ["/a?-", "/b?-", "/a?-"])
        check(lines.filter { $0.hasPrefix("request") }.count == 3)
    }

    @Test func aChunkedBodyIsPutTogetherWithoutItsExtensionsAndTrailers() {
        let lines = verdict(
            of: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "3;a=b;c=\"d\"\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n" + Self.get + "\r\n")
        #expect(lines[1].hasSuffix(" abc0123456789"))
        #expect(!lines[1].contains("X-T"))
        #expect(lines.count == 4)
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: a, Close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n", false),
    ])
    func theConnectionIsKeptAsTheVersionAndTheClientSay(text: String, keeps: Bool) {
        #expect(verdict(of: text)[0].contains("keepsAlive: \(keeps)"))
    }

    @Test(arguments: [
        ("get / HTTP/1.1\r\n", "400 method"), ("G@T / HTTP/1.1\r\n", "400 method"),
        (" GET / HTTP/1.1\r\n", "400 method"),
        ("\u{16}\u{3}\u{1}", "400 method"), ("GET\r\n", "400 method"), ("GET /\r\n", "400 request-line"),
        ("GET  / HTTP/1.1\r\n", "400 target"), ("GET a HTTP/1.1\r\n", "400 target"),
        ("GET * HTTP/1.1\r\n", "400 target"),
        ("GET ftp://x/ HTTP/1.1\r\n", "400 target"), ("GET http:///a HTTP/1.1\r\n", "400 target"),
        ("GET http://u@x/ HTTP/1.1\r\n", "400 target"), ("GET /a#b HTTP/1.1\r\n", "400 target"),
        ("GET /\u{e9} HTTP/1.1\r\n", "400 target"), ("GET /a\tb HTTP/1.1\r\n", "400 target"),
        ("GET /%zz HTTP/1.1\r\n", "400 target"), ("GET /%2 HTTP/1.1\r\n", "400 target"),
        ("GET /%00 HTTP/1.1\r\n", "400 target"), ("GET /.. HTTP/1.1\r\n", "400 target"),
        ("GET /a/%2E%2e/b HTTP/1.1\r\n", "400 target"), ("GET /./b HTTP/1.1\r\n", "400 target"),
        ("GET /?%g1 HTTP/1.1\r\n", "400 target"), ("GET / HTTP/2.0\r\n", "505 version"),
        ("GET / HTTP/11.0\r\n", "505 version"), ("GET / HTTP/0.9\r\n", "400 request-line"),
        ("GET / HTTP/1.10\r\n", "400 request-line"), ("GET / HTTP/1.1 \r\n", "400 request-line"),
        ("GET / http/1.1\r\n", "400 request-line"), ("GET / HTTP/1.1\n", "400 line-end"),
        ("GET / HTTP/1.1\r\r\n", "400 request-line"),
        ("GET /\(String(repeating: "a", count: 250)) HTTP/1.1\r\n", "414 request-line-size"),
        ("GET / HTTP/1.1\r\n\r\n", "400 no-host"), ("GET / HTTP/1.1\r\nHost:\r\n\r\n", "400 host"),
        ("GET / HTTP/1.1\r\nHost: a b\r\n", "400 host"), ("GET / HTTP/1.1\r\nHost: a/b\r\n", "400 host"),
        (get + "Host: x\r\n", "400 duplicate-host"), (get + "A : b\r\n", "400 field"), (get + "A\r\n", "400 field"),
        (get + ": b\r\n", "400 field"), (get + "A: b\r\n c\r\n", "400 folded-field"), (get + "A: \0\r\n", "400 field"),
        (get + "A: b\rc\r\n", "400 field"), (get + "A: b\n", "400 line-end"), (get + "A(: b\r\n", "400 field"),
        (get + "A: \u{7f}\r\n", "400 field"),
        (get + "A: \(String(repeating: "a", count: 500))\r\n", "431 header-size"),
        (get + String(repeating: "A: b\r\n", count: 9), "431 header-size"),
        (get + "Content-Length: 1\r\nContent-Length: 1\r\n", "400 duplicate-length"),
        (get + "Content-Length: 1\r\nContent-Length: 2\r\n", "400 duplicate-length"),
        (get + "Content-Length: 1, 1\r\n", "400 content-length"),
        (get + "Content-Length: +1\r\n", "400 content-length"),
        (get + "Content-Length: -1\r\n", "400 content-length"), (get + "Content-Length: 0x1\r\n", "400 content-length"),
        (get + "Content-Length:\r\n", "400 content-length"),
        (get + "Content-Length: 9223372036854775808\r\n", "400 content-length"),
        (get + "Content-Length: 65\r\n\r\n", "413 body-size"),
        (get + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 ambiguous-length"),
        (get + "Transfer-Encoding: xchunked\r\n\r\n", "501 transfer-encoding"),
        (get + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501 transfer-encoding"),
        (get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400 duplicate-encoding"),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 encoding-in-1.0"),
        (get + "Authorization: a\r\nAuthorization: b\r\n", "400 field"),
        ("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", "405 method-not-allowed"),
    ])
    func aMalformedHeadIsRefused(text: String, expected: String) { #expect(refusal(of: text) == expected) }

    @Test(arguments: [
        ("g\r\n", "400 chunk"), ("\r\n", "400 chunk"), ("-1\r\n", "400 chunk"), ("0x1\r\n", "400 chunk"),
        ("1 \r\na\r\n", "400 chunk"), ("1\na\r\n", "400 line-end"), ("1\r\nab\r\n", "400 chunk"),
        ("1\r\na\n", "400 chunk"), ("1\r\na\r\r", "400 chunk"), ("fffffffffffffffff\r\n", "400 chunk"),
        ("7fffffffffffffff\r\n", "413 body-size"), ("41\r\n", "413 body-size"),
        ("40\r\n\(String(repeating: "a", count: 64))\r\n1\r\n", "413 body-size"), ("1;\0\r\n", "400 chunk"),
        ("1;\(String(repeating: "a", count: 1100))\r\n", "400 chunk"), ("0\r\nA : b\r\n", "400 field"),
        ("0\r\n b\r\n", "400 folded-field"), ("0\r\nA: \(String(repeating: "a", count: 520))\r\n", "431 header-size"),
    ])
    func aMalformedChunkedBodyIsRefused(text: String, expected: String) {
        #expect(refusal(of: Self.get + "Transfer-Encoding: chunked\r\n\r\n" + text) == expected)
    }

    @Test func theVerdictDoesNotDependOnHowTheBytesAreCut() {
        let streams = [
            Self.get + "\r\n" + Self.get + "A: b\r\n\r\n",
            "\r\n\r\nPOST /b?c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + Self.get + "\r\nx",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;e\r\nabc\r\n0\r\nT: 1\r\n\r\n" + Self.get
                + "\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
            Self.get + "A: b\r\n c: d\r\n\r\n", Self.get + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "GET /\(String(repeating: "a", count: 300)) HTTP/1.1\r\n\r\n",
            Self.get + "A: \(String(repeating: "a", count: 600))\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n",
        ]
        for stream in streams {
            let bytes = Array(stream.utf8)
            let whole = verdict(of: [bytes[...]])
            for cut in 0...bytes.count { #expect(verdict(of: [bytes[..<cut], bytes[cut...]]) == whole) }
            check(verdict(of: bytes.indices.map { bytes[$0...$0] }) == whole)
        }
    }

    @Test func anEmptyChunkLineBudgetOrALongPrefixOfEmptyLinesIsBounded() {
        #expect(refusal(of: String(repeating: "\r\n", count: 300)) == "414 request-line-size")
    }

    @Test func noFieldCanBeSmuggledIntoAnAnswer() {
        var headers: HTTPHeaders = ["X-A": "a\r\nX-B: b"]
        headers.append("X\r\n", "c\0")
        #expect(headers["x-a"] == "a  X-B: b")
        #expect(headers["x  "] == "c ")
        #expect(headers["X-B"] == nil)
    }

    @Test func datesAreWrittenAsTheStandardWantsThem() {
        #expect(HTTPDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
