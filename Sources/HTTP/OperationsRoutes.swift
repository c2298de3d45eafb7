package import JSON
package import Runtime

/// What of a process works at this moment, for whoever directs traffic to it.
package struct Readiness: Sendable {
    package var isReady: Bool
    /// The parts by name, for people.
    package var parts: KeyValuePairs<String, JSONValue>

    package init(isReady: Bool, parts: KeyValuePairs<String, JSONValue>) {
        self.isReady = isReady
        self.parts = parts
    }

    fileprivate var response: HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("ready", isReady)
        for (name, value) in parts { json.member(name, value) }
        json.endObject()
        return .json(json.bytes, status: isReady ? 200 : 503)
    }
}

/// The listener of operators: `/healthz` (the process lives), `/readyz` (what works), `/metrics`, and what pages a process
/// adds. Not for the internet.
package struct OperationsRoutes: HTTPHandler {
    package typealias Page = @Sendable () -> HTTPResponse

    private let pages: [String: Page]

    /// `pages` are answered to GET by their paths.
    package init(metrics: Metrics, pages: [String: Page] = [:], readiness: @escaping @Sendable () -> Readiness) {
        let standard: [String: Page] = [
            "/healthz": { .text("alive\n") },
            "/readyz": { readiness().response },
            "/metrics": {
                HTTPResponse(
                    contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(metrics.exposition().utf8))
            },
        ]
        self.pages = standard.merging(pages) { _, added in added }
    }

    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission? { .body(limit: 0) }

    package func respond(to request: HTTPRequest) -> HTTPReply {
        guard let page = pages[request.path] else {
            return .now(.text("nothing here; there are \(pages.keys.sorted().joined(separator: " "))\n", status: 404))
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return .now(HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"]))
        }
        return .now(page())
    }
}
