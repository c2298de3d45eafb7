internal import HTTP
internal import Synchronization

/// Hands the server's requests to the simulator, which it does not keep alive.
final class SimulatorHandler: HTTPHandler {
    private struct Target: Sendable { weak let simulator: Simulator? }
    private let target = Mutex(Target(simulator: nil))

    func serve(_ simulator: Simulator) { target.withLock { $0 = Target(simulator: simulator) } }

    func respond(to request: HTTPRequest) -> HTTPReply {
        guard let simulator = target.withLock({ $0.simulator }) else {
            return .now(HTTPResponse(status: 503))
        }
        return .later { await simulator.respond(to: request) }
    }
}

extension Simulator {
    nonisolated func respond(to request: HTTPRequest) async -> HTTPResponse {
        guard let segments = request.head.segments else { return HTTPResponse(status: 404) }
        switch segments.first {
        case "control": return await controlResponse(to: request, Array(segments.dropFirst()))
        case "inApps", "groups": return await apiResponse(to: request, segments)
        default: return HTTPResponse(status: 404)
        }
    }
}
