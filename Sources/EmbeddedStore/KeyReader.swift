internal import Redis
internal import Runtime
internal import SQLite

/// Carries out the commands that only read, on a thread and a connection of its own: they see what was committed when
/// they began, and neither wait for those who write nor hold them up.
actor KeyReader {
    nonisolated let queue: CommandQueue
    private nonisolated let loop: EventLoop
    private let settings: EmbeddedStoreSettings
    private let clock: WallClock
    private let log: Log
    private var space: KeySpace?
    private var blocked: [Blocked] = []
    private var closedLinks: Set<UInt64> = []
    private var pollTimer: EventLoop.TimerID?
    private var dataVersion: Int64 = 0

    /// A read that waits for a stream to grow.
    private struct Blocked {
        let request: StreamRequest
        let link: UInt64
        /// Nil for one that waits for ever.
        let deadline: ContinuousClock.Instant?
        let reply: CheckedContinuation<Result<RedisReply, RedisError>, Never>
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ settings: EmbeddedStoreSettings, loop: EventLoop, clock: WallClock, log: Log) {
        self.settings = settings
        self.loop = loop
        self.clock = clock
        self.log = log
        queue = CommandQueue(limit: settings.commandsWaiting)
    }

    func open() throws(EmbeddedStoreError) {
        space = KeySpace(try StoreFile.open(settings, writes: false), interpreter: nil, clock: clock)
        queue.open()
    }

    func close() {
        queue.close()
        carryOut()
        for waiter in blocked { waiter.reply.resume(returning: .failure(RedisError(.closed))) }
        blocked = []
        if let pollTimer { loop.cancel(pollTimer) }
        pollTimer = nil
        space = nil
    }

    nonisolated func wake() {
        loop.execute { self.assumeIsolated { $0.carryOut() } }
    }

    /// Somebody of this process has added to a stream.
    nonisolated func streamsGrew() {
        loop.execute { self.assumeIsolated { $0.lookAgain() } }
    }

    private func carryOut() {
        while true {
            let (waiters, hasMore) = queue.take(atMost: settings.commandsTogether)
            guard !waiters.isEmpty else { return }
            var replies: [(CommandQueue.Waiter, Result<RedisReply, RedisError>)] = []
            // One look at the file for all of them.
            let failure = inOneLook { (space) throws(KeySpaceFailure) in
                for waiter in waiters {
                    if let reply = try reply(to: waiter, space) { replies.append((waiter, reply)) }
                }
            }
            for (waiter, reply) in replies { waiter.reply.resume(returning: reply) }
            if let failure {
                for waiter in waiters.dropFirst(replies.count + justBlocked) {
                    waiter.reply.resume(returning: .failure(failure))
                }
            }
            justBlocked = 0
            if !hasMore { return }
        }
    }

    /// How many of the present waiters have begun to wait.
    private var justBlocked = 0

    private func inOneLook(_ body: (KeySpace) throws(KeySpaceFailure) -> Void) -> RedisError? {
        guard let space else { return RedisError(.closed) }
        var failure: RedisError?
        do throws(KeySpaceFailure) {
            try space.run("BEGIN")
            try body(space)
        } catch {
            failure = Self.error(error)
        }
        // It has changed nothing, so that it ends is all that counts.
        do throws(KeySpaceFailure) { try space.run("COMMIT") } catch {
            failure = failure ?? Self.error(error)
        }
        return failure
    }

    private static func error(_ failure: KeySpaceFailure) -> RedisError {
        switch failure {
        case .command(let error): RedisError(.refused, error.text)
        case .file(let failure): RedisError(.refused, failure.reply)
        }
    }

    /// Nil when it waits from now on.
    private func reply(
        to waiter: CommandQueue.Waiter, _ space: KeySpace
    ) throws(KeySpaceFailure) -> Result<RedisReply, RedisError>? {
        guard case .command(let words) = waiter.work else { return .failure(RedisError(.refused, "ERR not a read")) }
        do throws(KeySpaceFailure) {
            let reply = try space.execute(words)
            guard reply.isNull, KeyCommand(words) == .xread else { return .success(reply) }
            let request = try StreamRequest(Array(words.dropFirst()))
            guard let patience = request.patience else { return .success(reply) }
            block(
                Blocked(
                    request: try space.resolved(request), link: waiter.link,
                    deadline: patience == .zero ? nil : .now + patience,
                    reply: waiter.reply))
            justBlocked += 1
            return nil
        } catch {
            switch error {
            case .command(let error): return .failure(RedisError(.refused, error.text))
            case .file(let failure) where failure.isOfOneCommand: return .failure(RedisError(.refused, failure.reply))
            case .file: throw error
            }
        }
    }

    // MARK: Waiting

    private func block(_ waiter: Blocked) {
        // It was on its way here when its link was closed.
        if closedLinks.contains(waiter.link) { return waiter.reply.resume(returning: .failure(RedisError(.closed))) }
        blocked.append(waiter)
        arm()
    }

    func giveUpWaiting(of link: UInt64) {
        closedLinks.insert(link)
        let given = blocked.filter { $0.link == link }
        blocked.removeAll { $0.link == link }
        for waiter in given { waiter.reply.resume(returning: .failure(RedisError(.closed))) }
    }

    private func arm() {
        guard pollTimer == nil, !blocked.isEmpty else { return }
        let soonest = blocked.compactMap(\.deadline).min().map { max(.zero, $0 - .now) } ?? settings.pollEvery
        pollTimer = loop.schedule(after: min(settings.pollEvery, soonest)) { [weak self] in
            self?.assumeIsolated { $0.poll() }
        }
    }

    private func poll() {
        pollTimer = nil
        var hasChanged = false
        let failure = inOneLook { (space) throws(KeySpaceFailure) in
            // Changes whenever somebody else has committed, another process too.
            let version = try space.number("PRAGMA data_version")
            hasChanged = version != dataVersion
            dataVersion = version
        }
        if hasChanged || failure != nil { lookAgain() }
        let now = ContinuousClock.now
        let late = blocked.filter { $0.deadline.map { $0 <= now } ?? false }
        blocked.removeAll { $0.deadline.map { $0 <= now } ?? false }
        for waiter in late { waiter.reply.resume(returning: .success(.null)) }
        arm()
    }

    private func lookAgain() {
        guard !blocked.isEmpty else { return }
        var replies: [(Blocked, Result<RedisReply, RedisError>)] = []
        var waiting: [Blocked] = []
        let failure = inOneLook { (space) throws(KeySpaceFailure) in
            for waiter in blocked {
                let reply = try space.execute(waiter.request.words)
                if reply.isNull { waiting.append(waiter) } else { replies.append((waiter, .success(reply))) }
            }
        }
        if let failure {
            replies = blocked.map { ($0, .failure(failure)) }
            waiting = []
        }
        blocked = waiting
        for (waiter, reply) in replies { waiter.reply.resume(returning: reply) }
    }
}
