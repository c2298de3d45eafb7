internal import Runtime

/// Asks the sentinels who the master is.
///
/// All are asked at once, and the one that knows of the latest failover is believed, as sentinels do among themselves: one
/// that was cut off names the master before it.
actor SentinelAdvice {
    private let masterName: String
    private let sentinels: [RedisClient]
    private let log: Log
    /// What the log was told since all answered.
    private var told = Silence.none
    private var isStarted = false
    private var isClosed = false
    private let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(name: String, settings: RedisSettings, loop: EventLoop, metrics: Metrics, log: Log) {
        self.loop = loop
        masterName = settings.masterName
        self.log = log.part("redis").with(["client": .init(name)])
        sentinels = settings.seeds.map { address in
            var own = settings
            (own.user, own.password, own.database) = (settings.sentinelUser, settings.sentinelPassword, 0)
            // One line for all of them says more than one of each.
            return RedisClient(
                name: "\(name) sentinel \(address)", settings: own, route: .fixed(address), loop: loop,
                metrics: metrics, log: .discarding)
        }
    }

    private struct Answer {
        let master: RedisAddress
        let epoch: UInt64
    }

    func master() async throws(RedisError) -> RedisAddress {
        await start()
        let answers = await withTaskGroup(of: Result<Answer, RedisError>.self) { group in
            for sentinel in sentinels {
                group.addTask { [masterName] in
                    do throws(RedisError) { return .success(try await Self.ask(sentinel, for: masterName)) } catch {
                        return .failure(error)
                    }
                }
            }
            var answers: [Result<Answer, RedisError>] = []
            for await answer in group { answers.append(answer) }
            return answers
        }
        note(answers)
        if let best = answers.compactMap({ try? $0.get() }).max(by: { $0.epoch < $1.epoch }) { return best.master }
        // A refusal says more than a silence.
        var reason = RedisError(.unreachable, "no sentinel answers")
        for case .failure(let error) in answers where reason.code != .refused { reason = error }
        throw RedisError(reason.code == .refused ? .refused : .unreachable, "sentinels: \(reason.message)")
    }

    private enum Silence: Int { case none, ofSome, ofAll }

    /// Tells of a silence once, and once more when it becomes one of all, however often it is met with.
    private func note(_ answers: [Result<Answer, RedisError>]) {
        guard !isClosed else { return }
        var reasons: [String] = []
        for case .failure(let error) in answers { reasons.append(error.description) }
        guard let reason = reasons.first else {
            if told != .none { log.info("all sentinels answer", ["of": .init(answers.count)]) }
            told = .none
            return
        }
        let silence = reasons.count == answers.count ? Silence.ofAll : .ofSome
        guard silence.rawValue > told.rawValue else { return }
        told = silence
        log.warning(
            "sentinels do not answer",
            ["silent": .init(reasons.count), "of": .init(answers.count), "reason": .init(reason)])
    }

    private static func ask(_ sentinel: RedisClient, for name: String) async throws(RedisError) -> Answer {
        let fields = try await sentinel.send(["SENTINEL", "MASTER", .text(name)]).array ?? []
        var values: [String: String] = [:]
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            if let key = fields[pair].string { values[key] = fields[pair + 1].string }
        }
        guard let host = values["ip"], let port = values["port"].flatMap({ Int($0) }), 1...65535 ~= port else {
            throw RedisError(.unexpectedReply, "SENTINEL MASTER")
        }
        return Answer(
            master: RedisAddress(host: host, port: port), epoch: values["config-epoch"].flatMap { UInt64($0) } ?? 0)
    }

    private func start() async {
        guard !isStarted else { return }
        isStarted = true
        await withDiscardingTaskGroup { group in
            for sentinel in sentinels { group.addTask { await sentinel.start() } }
        }
    }

    func close() async {
        (isStarted, isClosed) = (true, true)
        for sentinel in sentinels { await sentinel.close() }
    }
}
