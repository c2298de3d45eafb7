/// An answer. `Date`, `Content-Length` and `Connection` are the server's business: such fields set here are left out.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Nil everywhere but in a server that plays a bad one.
    package var fault: HTTPFault?

    package init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(status: Int = 200, contentType: String, body: [UInt8]) {
        self.init(status: status, headers: ["Content-Type": contentType], body: body)
    }

    package static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", body: body)
    }

    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }
}

/// What a handler says: an answer it has, or work that will give one.
package enum HTTPReply: Sendable {
    /// Sent from the loop's own thread, without a task.
    case now(HTTPResponse)
    /// Runs as a task off the loop. It is not cancelled when the client goes away: what it began may matter anyway;
    /// its connection counts as open until it ends, so that leaving early buys nobody more work.
    case later(@Sendable () async -> HTTPResponse)
}

/// What a handler says to a request's head, before any of its body is read.
package enum HTTPAdmission: Sendable {
    /// Reads the body if it has at most so many bytes, and refuses it by 413 otherwise.
    case body(limit: Int)
    /// Answers at once; a connection on which a body would follow is closed after it.
    case refuse(HTTPResponse)
}

/// Answers requests. Called on a loop's thread, so it must not block.
package protocol HTTPHandler: Sendable {
    /// Judges a request by its head; the server's own body limit applies when it says nil.
    func admit(_ head: HTTPRequestHead) -> HTTPAdmission?
    /// Answers a whole request.
    func respond(to request: HTTPRequest) -> HTTPReply
}

extension HTTPHandler {
    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission? { nil }
}
