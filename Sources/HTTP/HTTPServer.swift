internal import Glibc
package import Runtime
internal import Synchronization

/// Serves HTTP/1.1, and TLS if there is a certificate, from one listener shared by all `loops`.
///
/// One listening socket is registered in each loop's epoll with EPOLLEXCLUSIVE. A socket per loop (SO_REUSEPORT) would
/// strand connections with a loop that is busy, and closing one of several resets those waiting in its queue, while
/// one queue can be emptied before it is closed.
package final class HTTPServer: Service {
    private struct State {
        var listener: Int32?
        var port = 0
        var identity: TLSIdentity?
    }

    package let name: String
    private let settings: HTTPServerSettings
    private let workers: [HTTPWorker]
    private let metrics: HTTPServerMetrics
    private let log: Log
    private let state = Mutex(State())

    package init(
        settings: HTTPServerSettings, loops: [EventLoop], handler: any HTTPHandler, metrics: Metrics, log: Log
    ) {
        name = settings.name
        self.settings = settings
        self.log = log
        let counts = HTTPServerMetrics(metrics, listener: settings.name)
        self.metrics = counts
        let ledger = ConnectionLedger(
            limit: settings.connections, limitPerGroup: settings.connectionsPerAddress)
        workers = loops.map {
            HTTPWorker(
                loop: $0, settings: settings, handler: handler, metrics: counts, ledger: ledger, log: log)
        }
    }

    /// The port listened on; 0 before `start`.
    package var boundPort: Int { state.withLock { $0.port } }

    /// Listens. Throws when the address cannot be had, or the certificate is not good.
    package func start() async throws {
        guard let address = ListenAddress(settings.address) else {
            throw HTTPServerError.badAddress(settings.address)
        }
        let identity = try settings.certificate.map { try TLSIdentity($0) }
        if let identity { metrics.shows(certificateUntil: try identity.report().notAfter) }
        let (listener, port) = try address.listen()
        state.withLock { $0 = State(listener: listener, port: port, identity: identity) }
        for worker in workers { try await worker.listen(on: listener, identity) }
        log.info("listening", ["listener": .init(name), "address": .init(settings.address), "port": .init(port)])
    }

    /// Reads the certificate again; new connections get it. When it is not good, the old one stays.
    package func reload() async {
        guard let identity = state.withLock({ $0.identity }) else { return }
        do {
            try identity.reload()
            metrics.shows(certificateUntil: try identity.report().notAfter)
            log.info("certificate reloaded", ["listener": .init(name)])
        } catch {
            log.error(
                "the certificate is not good, the old one stays", ["listener": .init(name), "error": .init(error)])
        }
    }

    /// Stops accepting, answers what is open with `Connection: close` and returns when all is closed. When its task is
    /// cancelled, the caller's deadline, it closes the rest at once.
    package func drain() async {
        for worker in workers { await worker.stopAccepting() }
        if let listener = state.withLock({ $0.listener.take() }) { close(listener) }
        let workers = workers
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for worker in workers { group.addTask { await worker.drain() } }
            }
        } onCancel: {
            for worker in workers { Task { await worker.abort() } }
        }
    }
}

/// Why a server did not start.
package enum HTTPServerError: Error, Sendable, CustomStringConvertible {
    case badAddress(String)

    package var description: String {
        switch self {
        case .badAddress(let text): "\(text) is no address to listen on"
        }
    }
}
