internal import Redis
internal import Runtime
internal import SQLite

/// Carries out the commands that change something, on a thread of its own. Those that wait share one transaction and so
/// one sync of the disk; each is undone alone when it fails.
actor KeyWriter {
    nonisolated let queue: CommandQueue
    private nonisolated let loop: EventLoop
    private let settings: EmbeddedStoreSettings
    private let clock: WallClock
    private let metrics: EmbeddedStoreMetrics
    private let log: Log
    /// Called after something was added to a stream.
    private let streamsGrew: @Sendable () -> Void
    private var space: KeySpace?
    private var isRoomShort = false
    private var sweptAt: ContinuousClock.Instant?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        _ settings: EmbeddedStoreSettings, loop: EventLoop, clock: WallClock, metrics: EmbeddedStoreMetrics, log: Log,
        streamsGrew: @escaping @Sendable () -> Void
    ) {
        self.settings = settings
        self.loop = loop
        self.clock = clock
        self.metrics = metrics
        self.log = log
        self.streamsGrew = streamsGrew
        queue = CommandQueue(limit: settings.commandsWaiting)
    }

    func open() throws(EmbeddedStoreError) {
        let connection = try StoreFile.open(settings, writes: true)
        do throws(LuaInterpreter.OutOfMemory) {
            space = KeySpace(connection, interpreter: try LuaInterpreter(), clock: clock)
        } catch {
            throw .unreachable(path: settings.path, reason: "out of memory")
        }
        queue.open()
    }

    /// What waits is carried out first.
    func close() {
        queue.close()
        carryOut()
        space = nil
    }

    nonisolated func wake() {
        loop.execute { self.assumeIsolated { $0.carryOut() } }
    }

    private func carryOut() {
        while true {
            let (waiters, hasMore) = queue.take(atMost: settings.commandsTogether)
            guard !waiters.isEmpty else { return }
            carryOut(waiters)
            if !hasMore { return }
        }
    }

    private func carryOut(_ waiters: [CommandQueue.Waiter]) {
        guard let space else { return settle(waiters, StoreFileFailure.closed) }
        let before = space.streamWrites
        let began = ContinuousClock.now
        do throws(StoreFileFailure) {
            let replies = try transaction(waiters, space)
            metrics.transactions.increment()
            metrics.commit.record(.now - began)
            isRoomShort = false
            // Only now is anything of it durable.
            for (waiter, reply) in zip(waiters, replies) { waiter.reply.resume(returning: reply) }
            if space.streamWrites != before { streamsGrew() }
        } catch {
            metrics.failures.increment()
            if !isRoomShort { log.error("the embedded store takes no writes", ["reason": .init(error.reply)]) }
            isRoomShort = true
            settle(waiters, error)
        }
    }

    private func settle(_ waiters: [CommandQueue.Waiter], _ failure: StoreFileFailure) {
        for waiter in waiters { waiter.reply.resume(returning: .failure(RedisError(.refused, failure.reply))) }
    }

    private func transaction(
        _ waiters: [CommandQueue.Waiter], _ space: KeySpace
    ) throws(StoreFileFailure) -> [Result<RedisReply, RedisError>] {
        var replies: [Result<RedisReply, RedisError>] = []
        do throws(SQLiteError) {
            try space.connection.transaction { () throws(SQLiteError) in
                do throws(StoreFileFailure) {
                    for waiter in waiters { replies.append(try reply(to: waiter.work, space)) }
                    try sweep(space)
                } catch {
                    throw SQLiteError(.failed, error.reply)
                }
            }
        } catch {
            // What the commands said of the file is wrapped once more above; what SQLite said of the commit is not.
            throw error.number == 0 ? StoreFileFailure(passing: error.message) : StoreFileFailure(error)
        }
        return replies
    }

    /// Carries out one command; undone when it fails, unless the file is at fault, which undoes everything.
    private func reply(
        to work: CommandQueue.Work, _ space: KeySpace
    ) throws(StoreFileFailure) -> Result<RedisReply, RedisError> {
        do throws(KeySpaceFailure) {
            try space.run("SAVEPOINT command")
            let reply: RedisReply
            do throws(KeySpaceFailure) {
                reply =
                    switch work {
                    case .command(let words): try space.execute(words)
                    case .script(let script, let keys, let arguments):
                        try space.evaluate(script, keys: keys, arguments: arguments)
                    }
            } catch {
                let text: String
                switch error {
                case .command(let error): text = error.text
                case .file(let failure) where failure.isOfOneCommand: text = failure.reply
                case .file: throw error
                }
                try space.run("ROLLBACK TO command")
                try space.run("RELEASE command")
                return .failure(RedisError(.refused, text))
            }
            try space.run("RELEASE command")
            return .success(reply)
        } catch {
            switch error {
            case .command(let error): return .failure(RedisError(.refused, error.text))
            case .file(let failure): throw failure
            }
        }
    }

    /// Lets go of expired keys now and then, a few at a time.
    private func sweep(_ space: KeySpace) throws(StoreFileFailure) {
        if let sweptAt, .now - sweptAt < .seconds(1) { return }
        sweptAt = .now
        do throws(KeySpaceFailure) { try space.removeExpired(atMost: 200) } catch {
            if case .file(let failure) = error { throw failure }
        }
    }
}
