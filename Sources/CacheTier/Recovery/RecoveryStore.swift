package import Entitlements
package import Redis
package import Runtime
internal import Time

/// The recoveries and backfills of an app in one environment, in Redis, and who is at each.
package struct RecoveryStore: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        case store(StoreError)
        /// Somebody else goes on, as this one took too long.
        case leaseLost

        package var description: String {
            switch self {
            case .store(let error): "\(error)"
            case .leaseLost: "another process has taken over"
            }
        }
    }

    /// Finished ones kept, and as many commands that were never brought to an end.
    package static let kept = 20

    package let app: AppID
    package let environment: StoreEnvironment
    let link: StoreLink
    private let settings: RecoverySettings
    private let clock: WallClock
    package let leaseTime: Duration
    private let owner = Lease.newOwner()
    var key: String { StorageLayout.recovery(app, environment) }

    package init(
        redis: any RedisCommands, app: AppID, environment: StoreEnvironment,
        settings: RecoverySettings = RecoverySettings(), clock: WallClock = .system,
        leaseTime: Duration = .seconds(30)
    ) {
        link = StoreLink(redis: redis)
        self.app = app
        self.environment = environment
        self.settings = settings
        self.clock = clock
        self.leaseTime = leaseTime
    }

    /// All of them, the newest first. What another version wrote in a form of its own is left out.
    package func jobs() async throws(StoreError) -> [RecoveryJob] { try await entered().jobs }

    /// With the number that is raised whenever something is entered about an outage.
    private func entered() async throws(StoreError) -> (jobs: [RecoveryJob], number: String) {
        var jobs: [RecoveryJob] = []
        var number = "0"
        for (name, bytes) in try await fields() {
            if name == "n" { number = String(decoding: bytes, as: UTF8.self) }
            if name.hasPrefix("j:"), let job = RecoveryJob(bytes) { jobs.append(job) }
        }
        return (jobs.sorted { ($1.createdAt, $1.name) < ($0.createdAt, $0.name) }, number)
    }

    func fields() async throws(StoreError) -> [(name: String, value: [UInt8])] {
        let fields = try await link.send("HGETALL", key).array ?? []
        return stride(from: 0, to: fields.count - 1, by: 2).compactMap { pair in
            guard let name = fields[pair].string, let value = fields[pair + 1].bytes else { return nil }
            return (name, value)
        }
    }

    package func job(_ name: String) async throws(StoreError) -> RecoveryJob? {
        try await link.send("HGET", key, ["j:\(name)"]).bytes.flatMap(RecoveryJob.init)
    }

    /// Enters one; the old ones beyond the bound go.
    package func add(_ job: RecoveryJob) async throws(StoreError) {
        _ = try await link.send("HSET", key, ["j:\(job.name)", .bytes(job.bytes)])
        try await prune()
    }

    /// Enters what `notice` leads to, with what other processes have noticed. Returns what stands there then, if anything
    /// is to be done.
    @discardableResult
    package func note(_ notice: OutageNotice) async throws(StoreError) -> RecoveryJob? {
        for _ in 0..<32 {
            let (jobs, number) = try await entered()
            guard let job = notice.job(among: jobs, margin: settings.margin, lanes: settings.lanes) else { return nil }
            if try await replace(jobs.first { $0.name == job.name }, by: job, number) { return job }
        }
        throw .contended
    }

    /// Begins a recovery whose outage nobody watches any more; nil while somebody does, or when somebody was faster.
    package func adopt(_ job: RecoveryJob) async throws(StoreError) -> RecoveryJob? {
        let number = try await entered().number
        guard let begun = job.orphaned(at: clock.now(), lanes: settings.lanes) else { return nil }
        return try await replace(job, by: begun, number) ? begun : nil
    }

    private func replace(
        _ seen: RecoveryJob?, by job: RecoveryJob, _ number: String
    ) async throws(StoreError) -> Bool {
        try await link.evaluate(
            RecoveryScripts.replace, keys: [key],
            arguments: [.text(number), "j:\(job.name)", .bytes(seen?.bytes ?? []), .bytes(job.bytes)]) != nil
    }

    private func prune() async throws(StoreError) {
        let all = try await jobs()
        for old in all.filter({ $0.phase == .done && $0.cause != .regular }).dropFirst(Self.kept) {
            _ = try await link.send("HDEL", key, ["j:\(old.name)"])
        }
        // Those that an operator left lying; not what somebody is at.
        for old in all.filter({ $0.phase < .done && $0.cause == .command }).dropFirst(Self.kept) {
            let lease = StorageLayout.recoveryLease(old.name, app, environment)
            guard try await link.send("GET", lease).string == nil else { continue }
            _ = try await link.send("HDEL", key, ["j:\(old.name)"])
        }
    }

    // MARK: The lease

    private func lease(_ name: String) -> Lease {
        Lease(
            redis: link.redis, key: StorageLayout.recoveryLease(name, app, environment), owner: owner, time: leaseTime)
    }

    /// False while somebody else is at it.
    package func take(_ name: String) async throws(StoreError) -> Bool {
        do { return try await lease(name).take() } catch { throw .redis(error) }
    }

    /// Writes how far it is, and keeps the lease.
    package func save(_ job: RecoveryJob) async throws(Failure) {
        var job = job
        job.updatedAt = clock.now()
        try await write(job, to: "j:\(job.name)", leasedAs: job.name)
        guard job.phase == .done else { return }
        do { try await prune() } catch { throw .store(error) }
    }

    /// Keeps the lease of `name`, and writes only under it.
    func write(
        _ document: some StoredDocument, to field: String, leasedAs name: String
    ) async throws(Failure) {
        let isOurs: Bool
        do { isOurs = try await lease(name).write(field, document.bytes, of: key) } catch {
            throw .store(.redis(error))
        }
        if !isOurs { throw .leaseLost }
    }

    package func release(_ name: String) async throws(StoreError) {
        do { try await lease(name).release() } catch { throw .redis(error) }
    }
}

private enum RecoveryScripts {
    /// Answers 0 when what the caller saw is no longer so: another outage was entered, or the recovery went on.
    /// KEYS: hash. ARGV: number seen, field, what was seen or nothing, value.
    static let replace = RedisScript(
        """
        if (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[1] then return 0 end
        if (redis.call('HGET', KEYS[1], ARGV[2]) or '') ~= ARGV[3] then return 0 end
        redis.call('HSET', KEYS[1], ARGV[2], ARGV[4])
        return redis.call('HINCRBY', KEYS[1], 'n', 1)
        """)
}
