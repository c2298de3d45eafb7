package import Runtime
internal import Synchronization

/// One connection to Redis that is made again whenever it breaks. Commands of any number of tasks share it, in the
/// order of their calls, without waiting for one another's replies.
///
/// While there is no connection a command fails at once: who wants to wait says so with `waitUntilConnected`. SUBSCRIBE
/// and MONITOR are not for this client: it gives each command one reply.
package actor RedisClient: RedisLink {
    package nonisolated let name: String
    private let settings: RedisSettings
    private let loop: EventLoop
    private let log: Log
    private let metrics: RedisMetrics
    private let connected = Atomic(false)
    private let connectionsMade = Atomic(0)

    private enum Waiter {
        case caller(CheckedContinuation<Result<RedisReply, RedisError>, Never>, sent: ContinuousClock.Instant)
        case handshake(Handshake)
        case heartbeat
    }

    private enum Handshake { case authenticate, select, ping }

    private enum State { case idle, connecting, ready, pausing, draining, closed }

    private var state = State.idle
    private var connection: HiredisConnection?
    private var commands = CommandLedger<Waiter>()
    private var attempt = 0
    private var failuresInARow = 0
    private var lastFailure = RedisError(.unreachable, "not started")
    /// What is up next: giving up the attempt to connect, or making the next one.
    private var connectTimer: EventLoop.TimerID?
    private var deadlineArmed: ContinuousClock.Instant?
    private var attemptWaiters: [CheckedContinuation<Void, Never>] = []
    private var connectionWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    private var lastWaiter = 0
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

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
        self.name = name
        self.settings = settings
        self.loop = loop
        self.metrics = RedisMetrics(metrics, client: name)
        self.log = log.part("redis").with(["client": .init(name)])
    }

    isolated deinit { connection?.close(RedisError(.closed)) }

    // MARK: Commands

    package func send(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisReply {
        let result = await perform(arguments, timeout ?? settings.commandTimeout)
        metrics.count(result)
        let reply = try result.get()
        if case .error(let message) = reply { throw RedisError(.refused, message) }
        return reply
    }

    /// Runs a script, sending it in full only when the server does not know it.
    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        let rest = [RedisArgument(keys.count)] + keys.map { RedisArgument.text($0) } + arguments
        do {
            return try await send(["EVALSHA", .text(script.digest)] + rest)
        } catch {
            guard error.code == .refused, error.message.hasPrefix("NOSCRIPT") else { throw error }
            return try await send(["EVAL", .text(script.source)] + rest)
        }
    }

    private func perform(_ arguments: [RedisArgument], _ timeout: Duration) async -> Result<RedisReply, RedisError> {
        switch state {
        case .ready: break
        case .draining, .closed: return .failure(RedisError(.closed))
        case .idle, .connecting, .pausing: return .failure(lastFailure)
        }
        guard commands.count < settings.commandsInFlight else {
            return .failure(RedisError(.overloaded, "\(commands.count) commands wait for replies"))
        }
        return await withCheckedContinuation { continuation in
            guard let connection, connection.send(arguments) else {
                return continuation.resume(returning: .failure(RedisError(.unreachable, "the connection is closing")))
            }
            let now = ContinuousClock.now
            expectReply(for: .caller(continuation, sent: now), until: now + timeout)
        }
    }

    private func expectReply(for waiter: Waiter, until deadline: ContinuousClock.Instant) {
        commands.add(waiter, until: deadline)
        armDeadline(deadline)
    }

    private func replied(_ reply: Result<RedisReply, RedisError>) {
        guard let entry = commands.takeFirst() else { return }
        switch entry.waiter {
        case .handshake(let step):
            if case .success(let reply) = reply { shookHands(step, reply) }
        // Whatever it is: somebody is there.
        case .heartbeat: break
        case .caller(let continuation, let sent):
            switch reply {
            case .success:
                metrics.latency.record(.now - sent)
                continuation.resume(returning: reply)
            case .failure where entry.deadline <= .now:
                continuation.resume(returning: .failure(RedisError(.timedOut, "no reply in time")))
            // Another command's deadline is not this one's.
            case .failure(let reason):
                let code: RedisError.Code = reason.code == .closed ? .closed : .unreachable
                continuation.resume(returning: .failure(RedisError(code, reason.message)))
            }
        }
        if state == .draining && commands.count == 0 { closeConnection(RedisError(.closed)) }
    }

    // MARK: Deadlines

    /// One timer for all commands, at the earliest deadline that was seen when it was set.
    private func armDeadline(_ deadline: ContinuousClock.Instant) {
        if let armed = deadlineArmed, armed <= deadline { return }
        deadlineArmed = deadline
        loop.schedule(after: deadline - .now) { [weak self] in self?.assumeIsolated { $0.deadlineIsDue(deadline) } }
    }

    private func deadlineIsDue(_ due: ContinuousClock.Instant) {
        // A timer set later for an earlier deadline took its place.
        guard deadlineArmed == due else { return }
        deadlineArmed = nil
        guard let next = commands.nextDeadline else { return }
        if next > .now { return armDeadline(next) }
        // Replies come in order: without this one there will be none for the commands behind it.
        closeConnection(RedisError(.timedOut, "no reply in time"))
    }

    // MARK: Connecting

    package func start() async {
        guard state == .idle else { return }
        connect()
        await withCheckedContinuation { attemptWaiters.append($0) }
    }

    package func waitUntilConnected(within patience: Duration) async -> Bool {
        if state == .ready { return true }
        if state == .draining || state == .closed { return false }
        return await withCheckedContinuation { continuation in
            lastWaiter += 1
            let waiter = lastWaiter
            connectionWaiters[waiter] = continuation
            loop.schedule(after: patience) { [weak self] in
                self?.assumeIsolated { $0.connectionWaiters.removeValue(forKey: waiter)?.resume(returning: false) }
            }
        }
    }

    private func connect() {
        state = .connecting
        attempt += 1
        let mine = attempt
        connectTimer = loop.schedule(after: settings.connectTimeout) { [weak self] in
            self?.assumeIsolated { $0.attemptEnded(mine, RedisError(.unreachable, "connecting took too long")) }
        }
        Task(name: "redis-connect") {
            do throws(RedisError) {
                open(try await HostAddress.resolve(settings.host), mine)
            } catch {
                attemptEnded(mine, error)
            }
        }
    }

    private func open(_ address: String, _ mine: Int) {
        guard mine == attempt, state == .connecting, connection == nil else { return }
        do throws(RedisError) {
            let connection = try HiredisConnection(
                address: address, port: settings.port, replyBytes: settings.replyBytes, loop: loop)
            connection.onOpen = { [weak self] error in
                if error == nil { self?.assumeIsolated { $0.shakeHands() } }
            }
            connection.onReply = { [weak self] reply in self?.assumeIsolated { $0.replied(reply) } }
            connection.onClose = { [weak self] reason in self?.assumeIsolated { $0.connectionClosed(reason) } }
            self.connection = connection
        } catch {
            attemptEnded(mine, error)
        }
    }

    /// Introduces itself; all steps leave in one write.
    private func shakeHands() {
        var steps: [(Handshake, [RedisArgument])] = []
        if let password = settings.password {
            let user = settings.user.map { [RedisArgument($0)] } ?? []
            steps.append((.authenticate, ["AUTH"] + user + [.text(password.value)]))
        }
        if settings.database != 0 { steps.append((.select, ["SELECT", .text("\(settings.database)")])) }
        steps.append((.ping, ["PING"]))
        for (step, command) in steps where connection?.send(command) == true {
            // The timer of the attempt is the deadline.
            commands.add(.handshake(step), until: .now + .seconds(3600))
        }
    }

    private func shookHands(_ step: Handshake, _ reply: RedisReply) {
        guard state == .connecting else { return }
        switch (step, reply) {
        // A user who may do everything needed but PING has said enough.
        case (.ping, .error(let message)) where message.hasPrefix("NOPERM"): isReady()
        case (_, .error(let message)): closeConnection(RedisError(.refused, message))
        case (.ping, _): isReady()
        default: break
        }
    }

    private func isReady() {
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        state = .ready
        failuresInARow = 0
        connectionsMade.wrappingAdd(1, ordering: .releasing)
        connected.store(true, ordering: .releasing)
        metrics.connected.set(1)
        log.info("connected", ["host": .init(settings.host), "port": .init(settings.port)])
        for waiter in connectionWaiters.values { waiter.resume(returning: true) }
        connectionWaiters = [:]
        resumeAttemptWaiters()
        scheduleHeartbeat(attempt)
    }

    /// Asks now and then when nobody else does: a server that hangs, or is gone without a word, shows in `isConnected`
    /// before anybody waits for it.
    private func scheduleHeartbeat(_ mine: Int) {
        loop.schedule(after: settings.heartbeat) { [weak self] in
            self?.assumeIsolated { client in
                guard client.attempt == mine, client.state == .ready else { return }
                if client.commands.count == 0, client.connection?.send(["PING"]) == true {
                    client.expectReply(for: .heartbeat, until: .now + client.settings.commandTimeout)
                }
                client.scheduleHeartbeat(mine)
            }
        }
    }

    /// Ends an attempt that got no connection, or whose connection is still silent.
    private func attemptEnded(_ mine: Int, _ reason: RedisError) {
        guard mine == attempt, state == .connecting else { return }
        if connection != nil { closeConnection(reason) } else { connectionClosed(reason) }
    }

    private func closeConnection(_ reason: RedisError) {
        connected.store(false, ordering: .releasing)
        connection?.close(reason)
    }

    private func connectionClosed(_ reason: RedisError) {
        connection = nil
        connected.store(false, ordering: .releasing)
        metrics.connected.set(0)
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        defer { resumeAttemptWaiters() }
        guard state != .draining && state != .closed else { return becomeClosed() }
        if state == .ready { metrics.disconnects.increment() }
        lastFailure = RedisError(.unreachable, reason.message)
        state = .pausing
        let delay = Self.pause(afterFailures: failuresInARow, upTo: settings.reconnectDelay)
        failuresInARow += 1
        log.warning("not connected", ["reason": .init(reason), "retry_ms": .init(Int64(delay / .milliseconds(1)))])
        connectTimer = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { if $0.state == .pausing { $0.connect() } }
        }
    }

    /// Doubles from a fortieth of `longest` up to it; half of it is chance, so that clients do not come all at once.
    static func pause(afterFailures failures: Int, upTo longest: Duration) -> Duration {
        min(longest, longest / 40 * (1 << min(failures, 16))) * Double.random(in: 0.5...1)
    }

    private func resumeAttemptWaiters() {
        for waiter in attemptWaiters { waiter.resume() }
        attemptWaiters = []
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

    private func becomeClosed() {
        state = .closed
        lastFailure = RedisError(.closed)
        for waiter in connectionWaiters.values { waiter.resume(returning: false) }
        connectionWaiters = [:]
        for waiter in drainWaiters { waiter.resume() }
        drainWaiters = []
    }
}
