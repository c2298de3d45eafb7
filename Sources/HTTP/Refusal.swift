/// A request the core refuses by itself: the status as nginx gives it, a slug for metrics, a sentence for the sender.
struct Refusal: Error, Sendable, Equatable {
    let status: Int
    let reason: String
    let detail: String

    private init(_ status: Int, _ reason: String, _ detail: String) {
        self.status = status
        self.reason = reason
        self.detail = detail
    }

    static let method = Refusal(400, "method", "The method is not made of capital letters.")
    static let methodNotAllowed = Refusal(405, "method-not-allowed", "CONNECT and TRACE are not served here.")
    static let requestLine = Refusal(400, "request-line", "The request line is not 'METHOD target HTTP/1.x'.")
    static let target = Refusal(400, "target", "The request target is no valid path.")
    static let version = Refusal(505, "version", "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
    static let lineEnd = Refusal(400, "line-end", "A line does not end in CR LF.")
    static let field = Refusal(400, "field", "A header field is malformed.")
    static let foldedField = Refusal(400, "folded-field", "Header fields may not be folded.")
    static let noHost = Refusal(400, "no-host", "Host is missing.")
    static let host = Refusal(400, "host", "Host is not valid.")
    static let duplicateHost = Refusal(400, "duplicate-host", "Host came more than once.")
    static let contentLength = Refusal(400, "content-length", "Content-Length is not valid.")
    static let duplicateLength = Refusal(400, "duplicate-length", "Content-Length came more than once.")
    static let ambiguousLength = Refusal(
        400, "ambiguous-length", "Content-Length and Transfer-Encoding exclude each other.")
    static let transferEncoding = Refusal(501, "transfer-encoding", "Only 'chunked' is understood.")
    static let duplicateEncoding = Refusal(400, "duplicate-encoding", "Transfer-Encoding came more than once.")
    static let encodingTooOld = Refusal(400, "encoding-in-1.0", "HTTP/1.0 has no Transfer-Encoding.")
    static let chunk = Refusal(400, "chunk", "The chunked body is malformed.")
    static let requestLineTooLong = Refusal(414, "request-line-size", "The request line is too long.")
    static let headerTooLarge = Refusal(431, "header-size", "The header is too large.")
    static let bodyTooLarge = Refusal(413, "body-size", "The body is too large.")
    static let headerTimeout = Refusal(408, "header-deadline", "The header did not come in time.")
    static let bodyTimeout = Refusal(408, "body-deadline", "The body did not come in time.")
    static let tooManyConnections = Refusal(503, "connections", "Too many connections are open.")

    /// A problem document (RFC 9457). Nothing in it needs escaping.
    var response: HTTPResponse {
        let document =
            "{\"type\":\"urn:holdfast:problem:http:\(reason)\",\"title\":\"\(HTTPStatus.phrase(status))\","
            + "\"status\":\(status),\"detail\":\"\(detail)\"}"
        return HTTPResponse(status: status, contentType: "application/problem+json", body: Array(document.utf8))
    }
}
