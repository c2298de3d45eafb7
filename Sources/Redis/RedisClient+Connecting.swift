internal import Runtime
internal import Synchronization

/// How a client gets its connection, and another one when it breaks.
extension RedisClient {
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

    func connect() {
        state = .connecting
        attempt += 1
        let mine = attempt
        connectTimer = loop.schedule(after: settings.connectTimeout) { [weak self] in
            self?.assumeIsolated { $0.attemptEnded(mine, RedisError(.unreachable, "connecting took too long")) }
        }
        Task(name: "redis-connect") {
            do throws(RedisError) {
                let target = try await route.locate()
                open(try await HostAddress.resolve(target.host), target, mine)
            } catch {
                attemptEnded(mine, error)
            }
        }
    }

    func open(_ address: String, _ target: RedisAddress, _ mine: Int) {
        guard mine == attempt, state == .connecting, connection == nil else { return }
        do throws(RedisError) {
            let connection = try HiredisConnection(
                address: address, port: target.port, replyBytes: settings.replyBytes, loop: loop)
            server = target
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
    func shakeHands() {
        var steps: [(Handshake, [RedisArgument])] = []
        if let password = settings.password {
            let user = settings.user.map { [RedisArgument($0)] } ?? []
            steps.append((.authenticate, ["AUTH"] + user + [.text(password.value)]))
        }
        if settings.database != 0 { steps.append((.select, ["SELECT", .text("\(settings.database)")])) }
        if route.wantsMaster { steps.append((.role, ["ROLE"])) }
        steps.append((.ping, ["PING"]))
        for (step, command) in steps where connection?.send(command) == true {
            // The timer of the attempt is the deadline.
            commands.add(.handshake(step), until: .now + .seconds(3600))
        }
    }

    func shookHands(_ step: Handshake, _ reply: RedisReply) {
        guard state == .connecting else { return }
        switch (step, reply) {
        // A user who may do everything needed but PING has said enough.
        case (.ping, .error(let message)) where message.hasPrefix("NOPERM"): isReady()
        case (.role, .array(let role)) where role.first?.string != "master":
            closeConnection(RedisError(.refused, "\(place) is no master but a \(role.first?.string ?? "?")"))
        case (_, .error(let message)): closeConnection(RedisError(.refused, message))
        case (.ping, _): isReady()
        default: break
        }
    }

    func isReady() {
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        state = .ready
        failuresInARow = 0
        complaint = nil
        connectionsMade.wrappingAdd(1, ordering: .releasing)
        connected.store(true, ordering: .releasing)
        metrics.connected.set(1)
        log.info("connected", ["server": .init(place)])
        onChange(true)
        for waiter in connectionWaiters.values { waiter.resume(returning: true) }
        connectionWaiters = [:]
        resumeAttemptWaiters()
        scheduleHeartbeat(attempt)
    }

    /// Asks now and then when nobody else does: a server that hangs, or is gone without a word, shows in `isConnected`
    /// before anybody waits for it.
    func scheduleHeartbeat(_ mine: Int) {
        loop.schedule(after: settings.heartbeat) { [weak self] in
            self?.assumeIsolated { client in
                guard client.attempt == mine, client.state == .ready else { return }
                if client.commands.count == 0, client.connection?.send(["PING"]) == true {
                    client.expectReply(for: .nobody, until: .now + client.settings.commandTimeout)
                }
                client.scheduleHeartbeat(mine)
            }
        }
    }

    /// Ends an attempt that got no connection, or whose connection is still silent.
    func attemptEnded(_ mine: Int, _ reason: RedisError) {
        guard mine == attempt, state == .connecting else { return }
        if connection != nil { closeConnection(reason) } else { connectionClosed(reason) }
    }

    func closeConnection(_ reason: RedisError) {
        connected.store(false, ordering: .releasing)
        connection?.close(reason)
    }

    /// Gives up a server that is no longer the right one, and asks for the right one before it connects again.
    func leave(_ why: String) {
        guard state == .ready else { return }
        log.info("leaves its server", ["server": .init(place), "why": .init(why)])
        closeConnection(RedisError(.unreachable, why))
    }

    /// Leaves its server unless that is where it should be.
    func move(to address: RedisAddress) {
        if let server, server != address { leave("\(address) is the master now") }
    }

    /// Has changes of `isConnected` told on the loop's thread, a new connection before any command can go over it.
    func tell(_ listener: @escaping @Sendable (_ isConnected: Bool) -> Void) { onChange = listener }

    var place: String { server?.description ?? "?" }

    func connectionClosed(_ reason: RedisError) {
        connection = nil
        connected.store(false, ordering: .releasing)
        metrics.connected.set(0)
        if state == .ready { onChange(false) }
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        defer { resumeAttemptWaiters() }
        guard state != .draining && state != .closed else { return becomeClosed() }
        if state == .ready { metrics.disconnects.increment() }
        lastFailure = RedisError(.unreachable, reason.message)
        state = .pausing
        let delay = Self.pause(afterFailures: failuresInARow, upTo: settings.reconnectDelay)
        failuresInARow += 1
        complain(of: reason, retryingAfter: delay)
        connectTimer = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { if $0.state == .pausing { $0.connect() } }
        }
    }

    /// Once an outage, however many attempts it lasts; and once more when somebody is there who refuses.
    func complain(of reason: RedisError, retryingAfter delay: Duration) {
        let isNews = complaint == nil || (reason.code == .refused && complaint != .refused)
        let fields: Log.Fields = ["reason": .init(reason), "retry_ms": .init(Int64(delay / .milliseconds(1)))]
        guard isNews else { return log.debug("still not connected", fields) }
        complaint = reason.code
        log.warning("not connected", fields)
    }

    /// Doubles from a fortieth of `longest` up to it; half of it is chance, so that clients do not come all at once.
    static func pause(afterFailures failures: Int, upTo longest: Duration) -> Duration {
        min(longest, longest / 40 * (1 << min(failures, 16))) * Double.random(in: 0.5...1)
    }

    func resumeAttemptWaiters() {
        for waiter in attemptWaiters { waiter.resume() }
        attemptWaiters = []
    }
}
