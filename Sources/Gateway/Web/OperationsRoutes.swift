package import HTTP
internal import JSON
package import Runtime

/// What works at this moment, for whoever directs traffic here.
package struct Readiness: Sendable {
    package var isBrokerHealthy: Bool
    package var hasSpoolRoom: Bool
    package var spooledRecords: UInt64
    /// The change feed is followed, so answers from memory are what Redis has.
    package var isStoreLive: Bool

    package init(isBrokerHealthy: Bool, hasSpoolRoom: Bool, spooledRecords: UInt64, isStoreLive: Bool) {
        self.isBrokerHealthy = isBrokerHealthy
        self.hasSpoolRoom = hasSpoolRoom
        self.spooledRecords = spooledRecords
        self.isStoreLive = isStoreLive
    }

    /// Notifications can be acknowledged. Reads are answered as well as can be in any case, so they do not count.
    package var isReady: Bool { isBrokerHealthy || hasSpoolRoom }

    var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("ready", isReady)
        json.member("broker", isBrokerHealthy)
        json.member("spool", hasSpoolRoom)
        json.member("spooledRecords", spooledRecords)
        json.member("store", isStoreLive)
        json.endObject()
        return json.bytes
    }
}

/// The listener of operators: `/healthz` (the process lives), `/readyz` (what works), `/metrics`, `/refused` (samples of
/// what was refused). Not for the internet.
package struct OperationsRoutes: HTTPHandler {
    private let readiness: @Sendable () -> Readiness
    private let metrics: Metrics
    private let samples: RefusalSamples

    package init(readiness: @escaping @Sendable () -> Readiness, metrics: Metrics, samples: RefusalSamples) {
        self.readiness = readiness
        self.metrics = metrics
        self.samples = samples
    }

    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission? { .body(limit: 0) }

    package func respond(to request: HTTPRequest) -> HTTPReply {
        let correlation = Correlation.id(of: request.head)
        guard ["/healthz", "/readyz", "/metrics", "/refused"].contains(request.path) else {
            return .now(Problem(.notFound, "There is nothing at this path.").response(correlation: correlation))
        }
        guard request.method == "GET" else {
            return .now(
                Problem(.methodNotAllowed, "Only GET is allowed here.", headers: ["Allow": "GET"])
                    .response(correlation: correlation))
        }
        switch request.path {
        case "/healthz": return .now(.text("alive\n"))
        case "/readyz":
            let readiness = readiness()
            return .now(.json(readiness.json, status: readiness.isReady ? 200 : 503))
        case "/refused": return .now(.json(samples.json))
        default:
            return .now(
                HTTPResponse(
                    contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(metrics.exposition().utf8)))
        }
    }
}
