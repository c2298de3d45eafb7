import HTTP
import Runtime
import Synchronization

/// A handler that answers by path; what a test needs and nothing else.
struct TestHandler: HTTPHandler {
    /// `/gate` answers when it is opened.
    let gate = Gate()

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission? {
        switch head.path {
        case "/small": .body(limit: 4)
        case "/refused": .refuse(.text("no", status: 403))
        default: nil
        }
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        let text = "\(request.path) \(request.body.count)"
        switch request.path {
        case "/gate":
            return .later {
                await gate.wait()
                return .text(text)
            }
        case "/large": return .now(.text(String(repeating: "a", count: 8 << 20)))
        default:
            if request.path.hasPrefix("/later") { return .later { .text(text) } }
            return .now(.text(text))
        }
    }
}

/// Lets through once opened; counts who waits.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())

    var waiting: Int { state.withLock { $0.waiting.count } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

struct RunningServer: Sendable {
    let server: HTTPServer
    let handler: TestHandler
    let metrics: Metrics
    var port: Int { server.boundPort }

    func value(_ name: String, _ labels: Metrics.Labels = [:]) -> UInt64 {
        metrics.counter(name, "", labels: labels).value
    }

    var openConnections: Double { metrics.gauge("holdfast_http_connections", "", labels: ["listener": "http"]).value }
}

/// Runs a server on two loops of its own for the time of `body`.
func withServer<Value>(
    _ change: (inout HTTPServerSettings) -> Void = { _ in }, _ body: (RunningServer) async throws -> Value
) async throws -> Value {
    var settings = HTTPServerSettings()
    change(&settings)
    let loops = [try EventLoop(name: "http-0"), try EventLoop(name: "http-1")]
    defer { for loop in loops { loop.stop() } }
    let (handler, metrics) = (TestHandler(), Metrics())
    let server = HTTPServer(settings: settings, loops: loops, handler: handler, metrics: metrics, log: .discarding)
    try await server.start()
    let drain = {
        handler.gate.open()
        let task = Task { await server.drain() }
        task.cancel()
        await task.value
    }
    do {
        let value = try await body(RunningServer(server: server, handler: handler, metrics: metrics))
        await drain()
        return value
    } catch {
        await drain()
        throw error
    }
}
