internal import Runtime

/// The connection of an actor, through its ups and downs.
struct Link {
    enum Phase {
        /// Before the start, or after the end.
        case idle
        case connecting
        case up(ConnectionHandle)
        /// Lost; the next attempt is due by a timer.
        case waiting
    }

    var phase = Phase.idle
    var backoff: Backoff
    var since = ContinuousClock.now
    /// Counts connections; tells what belongs to the present one.
    var number: UInt64 = 0

    init(_ settings: BrokerSettings) {
        backoff = Backoff(minimum: settings.reconnectMinimum, maximum: settings.reconnectMaximum)
    }

    var handle: ConnectionHandle? { if case .up(let handle) = phase { handle } else { nil } }
}

/// An actor on a loop that keeps one connection up: opened on a thread of its own, watched and kept alive on the loop,
/// opened again with growing waits when lost.
protocol LinkedActor: Actor {
    nonisolated var name: String { get }
    nonisolated var loop: EventLoop { get }
    nonisolated var settings: BrokerSettings { get }
    nonisolated var log: Log { get }
    var link: Link { get set }

    /// Prepares a new connection before it is used. Blocks, on a thread of its own.
    nonisolated var setUp: ConnectionHandle.SetUp { get }
    func linkIsUp()
    /// Does what can be done now: reads all there is, writes what is due. Called again and again.
    func serve(_ handle: ConnectionHandle) throws(BrokerError)
    /// The connection is gone, and with it all that was in flight.
    func linkIsDown(_ error: BrokerError)
}

extension LinkedActor {
    /// Tries to connect. Returns once connected, or with the next attempt on its way; throws only what no waiting mends.
    func connectFirst() async throws(BrokerError) {
        guard case .idle = link.phase, let error = await connect() else { return }
        switch error.code {
        case .refused, .topologyMismatch:
            link.phase = .idle
            throw error
        default: connectLater(error)
        }
    }

    /// Runs `serve` and loses the connection if it fails.
    func serveLink() {
        guard let handle = link.handle else { return }
        do { try serve(handle) } catch { lose(error) }
    }

    /// Lets go of the connection and plans the next.
    func lose(_ error: BrokerError) {
        guard drop() != nil else { return }
        if ContinuousClock.now - link.since > settings.reconnectMaximum { link.backoff.reset() }
        linkIsDown(error)
        connectLater(error, after: link.backoff.delay())
    }

    /// Ends it for good, with a goodbye if there is a connection.
    func closeLink() {
        let handle = drop()
        link.phase = .idle
        handle?.close()
    }

    private func drop() -> ConnectionHandle? {
        guard let handle = link.handle else { return nil }
        loop.unwatch(handle.fd)
        link.phase = .idle
        return handle
    }

    private func connect() async -> BrokerError? {
        link.phase = .connecting
        do {
            let handle = try await ConnectionHandle.opened(settings, name: name, setUp: setUp)
            guard case .connecting = link.phase else {
                handle.close()
                return nil
            }
            try adopt(handle)
            return nil
        } catch {
            guard case .connecting = link.phase else { return nil }
            return error
        }
    }

    private func adopt(_ handle: ConnectionHandle) throws(BrokerError) {
        let number = link.number &+ 1
        do {
            try loop.watch(handle.fd, for: .read) { [weak self] readiness in
                self?.assumeIsolated { $0.ready(readiness, number) }
            }
        } catch {
            throw BrokerError(.unreachable, "\(error)")
        }
        link.number = number
        link.phase = .up(handle)
        link.since = .now
        log.info("connected to the broker", ["host": .init(settings.host), "port": .init(settings.port)])
        linkIsUp()
        beatLater(number)
        // What arrived while the connection was set up is in librabbitmq's memory, where epoll does not see it.
        serveLink()
    }

    private func ready(_ readiness: EventLoop.Readiness, _ number: UInt64) {
        guard number == link.number else { return }
        serveLink()
        guard readiness.contains(.hangup), number == link.number else { return }
        lose(BrokerError(.unreachable, "the broker hung up"))
    }

    /// Heartbeats are sent and missed within calls of librabbitmq only.
    private func beatLater(_ number: UInt64) {
        loop.schedule(after: settings.heartbeat / 2) { [weak self] in
            self?.assumeIsolated { actor in
                guard number == actor.link.number, actor.link.handle != nil else { return }
                actor.serveLink()
                actor.beatLater(number)
            }
        }
    }

    /// What no waiting mends may be mended by somebody: it is tried again as well, but not in a hurry.
    private func connectLater(_ error: BrokerError) {
        connectLater(error, after: error.isRetryable ? link.backoff.delay() : settings.reconnectMaximum)
    }

    private func connectLater(_ error: BrokerError, after delay: Duration) {
        link.phase = .waiting
        log.warning(
            "no connection to the broker",
            ["error": .init(error), "nextAttemptMilliseconds": .init(Int(delay / .milliseconds(1)))])
        loop.schedule(after: delay) { [weak self] in
            Task { await self?.connectAgain() }
        }
    }

    private func connectAgain() async {
        guard case .waiting = link.phase, let error = await connect() else { return }
        connectLater(error)
    }
}

extension ConnectionHandle {
    typealias SetUp = @Sendable (ConnectionHandle) throws(BrokerError) -> Void

    /// Opens a connection on a thread of its own, where it may block, and hands it over.
    static func opened(
        _ settings: BrokerSettings, name: String, setUp: @escaping SetUp
    ) async throws(BrokerError) -> sending ConnectionHandle {
        let result: Result<ConnectionHandle, BrokerError> = await withCheckedContinuation { continuation in
            do {
                try Thread.start(name: "broker-connect") {
                    continuation.resume(returning: Result { () throws(BrokerError) in try open(settings, name, setUp) })
                }
            } catch {
                continuation.resume(returning: .failure(BrokerError(.unreachable, "\(error)")))
            }
        }
        return try result.get()
    }

    private static func open(
        _ settings: BrokerSettings, _ name: String, _ setUp: SetUp
    ) throws(BrokerError) -> sending ConnectionHandle {
        let handle = try ConnectionHandle(settings, name: name)
        try setUp(handle)
        return handle
    }
}
