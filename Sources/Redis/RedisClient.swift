package import Runtime
internal import Synchronization

/// One connection to Redis that is made again whenever it breaks. Commands of any number of tasks share it, in the
/// order of their calls, without waiting for one another's replies.
///
/// While there is no connection a command fails at once: who wants to wait says so with `waitUntilConnected`. SUBSCRIBE
/// and MONITOR are not for this client: it gives each command one reply.
package actor RedisClient: RedisLink {
    package nonisolated let name: String
    let settings: RedisSettings
    let route: RedisRoute
    let loop: EventLoop
    let log: Log
    let metrics: RedisMetrics
    let connected = Atomic(false)
    let connectionsMade = Atomic(0)

    enum Waiter {
        case caller(CheckedContinuation<Result<RedisReply, RedisError>, Never>, sent: ContinuousClock.Instant)
        case handshake(Handshake)
        /// A write whose reply is told when the next one says how many replicas have it.
        case write(HeldReply)
        case replicas(HeldReply, wanted: Int, sent: ContinuousClock.Instant)
        case nobody
    }

    final class HeldReply {
        var reply: Result<RedisReply, RedisError>?
        /// Whether nobody can be asked about replicas any more.
        var isAlone = false
        let continuation: CheckedContinuation<Result<RedisReply, RedisError>, Never>
        init(_ continuation: CheckedContinuation<Result<RedisReply, RedisError>, Never>) {
            self.continuation = continuation
        }
    }

    enum Handshake { case authenticate, select, role, ping }

    enum State { case idle, connecting, ready, pausing, draining, closed }

    var state = State.idle
    var connection: HiredisConnection?
    /// Where `connection` leads.
    var server: RedisAddress?
    var commands = CommandLedger<Waiter>()
    var attempt = 0
    var failuresInARow = 0
    var lastFailure = RedisError(.unreachable, "not started")
    /// What the log has of the outage that goes on; nil without one.
    var complaint: RedisError.Code?
    /// What is up next: giving up the attempt to connect, or making the next one.
    var connectTimer: EventLoop.TimerID?
    var deadlineArmed: ContinuousClock.Instant?
    var attemptWaiters: [CheckedContinuation<Void, Never>] = []
    var connectionWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var lastWaiter = 0
    var drainWaiters: [CheckedContinuation<Void, Never>] = []
    /// Hears on the loop's thread whether there is a connection, before any command can go over it.
    var onChange: @Sendable (_ isConnected: Bool) -> Void = { _ in }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Whether commands can be sent right now; from any thread.
    package nonisolated var isConnected: Bool { connected.load(ordering: .acquiring) }

    /// How many connections have been made so far.
    package nonisolated var connections: Int { connectionsMade.load(ordering: .acquiring) }

    package nonisolated var commandTimeout: Duration { settings.commandTimeout }

    /// The loop may be shared with others, whose jobs then must be short.
    package init(
        name: String, settings: RedisSettings, loop: EventLoop, metrics: Metrics = Metrics(),
        log: Log = .discarding
    ) {
        self.init(
            name: name, settings: settings, route: .fixed(RedisAddress(host: settings.host, port: settings.port)),
            loop: loop, metrics: metrics, log: log)
    }

    init(
        name: String, settings: RedisSettings, route: RedisRoute, loop: EventLoop, metrics: Metrics, log: Log
    ) {
        self.name = name
        self.settings = settings
        self.route = route
        self.loop = loop
        self.metrics = RedisMetrics(metrics, client: name)
        self.log = log.part("redis").with(["client": .init(name)])
    }

    isolated deinit { connection?.close(RedisError(.closed)) }

    // MARK: Commands

    package func send(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisReply {
        try await send(arguments, timeout ?? settings.commandTimeout)
    }

    /// - Parameters:
    ///   - asking: Whether a cluster's node is to carry it out though the slot is not its own yet.
    ///   - replicas: How many replicas must have it before it counts.
    func send(
        _ arguments: [RedisArgument], _ timeout: Duration, asking: Bool = false, replicas: Int = 0
    ) async throws(RedisError) -> RedisReply {
        let result = await perform(arguments, timeout, asking, replicas)
        metrics.count(result)
        let reply = try result.get()
        if case .error(let message) = reply { throw RedisError(.refused, message) }
        return reply
    }

    /// Runs a script, sending it in full only when the server does not know it.
    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        try await evaluate(script, keys, arguments, settings.commandTimeout)
    }

    func evaluate(
        _ script: RedisScript, _ keys: [String], _ arguments: [RedisArgument], _ timeout: Duration, asking: Bool = false
    ) async throws(RedisError) -> RedisReply {
        let rest = [RedisArgument(keys.count)] + keys.map { RedisArgument.text($0) } + arguments
        let replicas = script.isOfRecord ? settings.replicas : 0
        do {
            return try await send(
                ["EVALSHA", .text(script.digest)] + rest, timeout, asking: asking, replicas: replicas)
        } catch {
            guard error.code == .refused, error.message.hasPrefix("NOSCRIPT") else { throw error }
            return try await send(["EVAL", .text(script.source)] + rest, timeout, asking: asking, replicas: replicas)
        }
    }

    func perform(
        _ arguments: [RedisArgument], _ timeout: Duration, _ asking: Bool, _ replicas: Int
    ) async -> Result<RedisReply, RedisError> {
        switch state {
        case .ready: break
        case .draining, .closed: return .failure(RedisError(.closed))
        case .idle, .connecting, .pausing: return .failure(lastFailure)
        }
        guard commands.count < settings.commandsInFlight else {
            return .failure(RedisError(.overloaded, "\(commands.count) commands wait for replies"))
        }
        return await withCheckedContinuation { continuation in
            let now = ContinuousClock.now
            if asking, connection?.send(["ASKING"]) == true { expectReply(for: .nobody, until: now + timeout) }
            guard let connection, connection.send(arguments) else {
                return continuation.resume(returning: .failure(RedisError(.unreachable, "the connection is closing")))
            }
            guard replicas > 0 else {
                return expectReply(for: .caller(continuation, sent: now), until: now + timeout)
            }
            let write = HeldReply(continuation)
            expectReply(for: .write(write), until: now + timeout)
            let patience = max(1, Int64(timeout / .milliseconds(2)))
            if connection.send(["WAIT", RedisArgument(replicas), RedisArgument(patience)]) {
                expectReply(for: .replicas(write, wanted: replicas, sent: now), until: now + timeout)
            } else {
                write.isAlone = true
            }
        }
    }

    func expectReply(for waiter: Waiter, until deadline: ContinuousClock.Instant) {
        commands.add(waiter, until: deadline)
        armDeadline(deadline)
    }

    func replied(_ reply: Result<RedisReply, RedisError>) {
        guard let entry = commands.takeFirst() else { return }
        switch entry.waiter {
        case .handshake(let step):
            if case .success(let reply) = reply { shookHands(step, reply) }
        // Whatever it is: somebody is there.
        case .nobody: break
        case .caller(let continuation, let sent):
            if case .success = reply { metrics.latency.record(.now - sent) }
            continuation.resume(returning: told(reply, entry.deadline))
        case .write(let write):
            write.reply = told(reply, entry.deadline)
            if write.isAlone {
                write.continuation.resume(returning: .failure(RedisError(.unreachable, "the connection is closing")))
            }
        case .replicas(let write, let wanted, let sent):
            metrics.latency.record(.now - sent)
            write.continuation.resume(returning: Self.judged(write.reply, told(reply, entry.deadline), wanted))
        }
        if state == .draining && commands.count == 0 { closeConnection(RedisError(.closed)) }
    }

    /// The reply as its caller hears of it.
    func told(
        _ reply: Result<RedisReply, RedisError>, _ deadline: ContinuousClock.Instant
    ) -> Result<RedisReply, RedisError> {
        switch reply {
        case .success(.error(let message)):
            // It was made a replica: whoever is the master now is looked for.
            if route.wantsMaster, message.hasPrefix("READONLY") { leave("it takes no writes any more") }
            return reply
        case .success: return reply
        case .failure where deadline <= .now: return .failure(RedisError(.timedOut, "no reply in time"))
        // Another command's deadline is not this one's.
        case .failure(let reason):
            return .failure(RedisError(reason.code == .closed ? .closed : .unreachable, reason.message))
        }
    }

    /// What became of a write that replicas were to have. One that too few have was carried out, and may be lost.
    static func judged(
        _ write: Result<RedisReply, RedisError>?, _ count: Result<RedisReply, RedisError>, _ wanted: Int
    ) -> Result<RedisReply, RedisError> {
        guard case .success(let reply) = write else { return write ?? count }
        if case .error = reply { return .success(reply) }
        switch count {
        case .failure(let error): return .failure(error)
        case .success(let answer):
            let have = answer.integer ?? 0
            if have >= wanted { return .success(reply) }
            return .failure(RedisError(.unreachable, "\(have) of \(wanted) replicas have the write"))
        }
    }

    // MARK: Deadlines

    /// One timer for all commands, at the earliest deadline that was seen when it was set.
    func armDeadline(_ deadline: ContinuousClock.Instant) {
        if let armed = deadlineArmed, armed <= deadline { return }
        deadlineArmed = deadline
        loop.schedule(after: deadline - .now) { [weak self] in self?.assumeIsolated { $0.deadlineIsDue(deadline) } }
    }

    func deadlineIsDue(_ due: ContinuousClock.Instant) {
        // A timer set later for an earlier deadline took its place.
        guard deadlineArmed == due else { return }
        deadlineArmed = nil
        guard let next = commands.nextDeadline else { return }
        if next > .now { return armDeadline(next) }
        // Replies come in order: without this one there will be none for the commands behind it.
        closeConnection(RedisError(.timedOut, "no reply in time"))
    }

    // MARK: The end

    /// Refuses new commands, waits for the replies to those in flight (their deadlines bound that), disconnects.
    package func drain() async {
        switch state {
        case .closed: return
        case .ready where commands.count > 0:
            state = .draining
            connected.store(false, ordering: .releasing)
        case .draining: break
        default: return close()
        }
        await withCheckedContinuation { drainWaiters.append($0) }
    }

    package func close() {
        guard state != .closed else { return }
        state = .closed
        if connection != nil { closeConnection(RedisError(.closed)) } else { connectionClosed(RedisError(.closed)) }
    }

    func becomeClosed() {
        state = .closed
        lastFailure = RedisError(.closed)
        for waiter in connectionWaiters.values { waiter.resume(returning: false) }
        connectionWaiters = [:]
        for waiter in drainWaiters { waiter.resume() }
        drainWaiters = []
    }
}
