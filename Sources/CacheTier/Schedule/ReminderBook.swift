package import Entitlements
package import Redis
package import Runtime
package import Time

/// When customers of an app in one environment are to be reminded of an end, and of what they were.
///
/// Every write of a record enters the next reminder by the same script (`LineageSchedule`); an entry's time says which
/// reminder it is for. It is looked at again when it is due, said only if it still holds, and then noted and moved on by one
/// script. Who is interrupted in between says it again, under the same id.
package struct ReminderBook: Sendable {
    /// A reminder whose time has come, not looked at yet.
    package struct Entry: Sendable, Hashable {
        package let lineage: LineageID
        package let holder: Holder
        package let at: Timestamp
        /// As Redis gave it.
        fileprivate let score: String
        fileprivate let partition: Int
        fileprivate let member: String
    }

    /// What a due entry leads to.
    package struct Finding: Sendable {
        /// What is to be said; nil when it does not hold any more, or was said.
        package var reminder: Reminder?
        /// What the customer has of the lineage; nil when the entry is one too many.
        package var record: LineageRecord?
        /// What the lineage means now.
        package var evaluation: LineageEvaluation?
        /// Entitlements of it that other purchases of the customer give beyond its end.
        package var kept: Set<String> = []
        /// The product map it was looked at by.
        package var mapVersion: String?
        fileprivate var next: Reminder?
    }

    package let app: AppID
    package let environment: StoreEnvironment
    private let link: StoreLink
    private let rules: StoreRules
    private let clock: WallClock
    private let lease: Lease
    private let strays: ScheduleStrays

    package init(
        redis: any RedisCommands, app: AppID, environment: StoreEnvironment, rules: StoreRules,
        clock: WallClock = .system, leaseTime: Duration = .seconds(30), metrics: Metrics = Metrics(),
        log: Log = .discarding
    ) {
        link = StoreLink(redis: redis)
        self.app = app
        self.environment = environment
        self.rules = rules
        self.clock = clock
        strays = ScheduleStrays(app, environment, metrics: metrics, log: log)
        lease = Lease(
            redis: redis, key: StorageLayout.remindLease(app, environment), owner: Lease.newOwner(), time: leaseTime)
    }

    // MARK: One at a time

    /// Takes or keeps the turn at reminding; false while another process has it.
    package func take() async throws(StoreError) -> Bool {
        do { return try await lease.take() } catch { throw .redis(error) }
    }

    package func release() async throws(StoreError) {
        do { try await lease.release() } catch { throw .redis(error) }
    }

    // MARK: What is due

    /// Entries whose time has come, those that have waited longest first.
    package func due(limit: Int) async throws(StoreError) -> [Entry] {
        let now = clock.now()
        let found = try await link.each(Array(0..<StorageLayout.partitions)) {
            (link, partition) async throws(StoreError) in
            let part = try await SchedulePart.due(
                in: key(partition), partition, app, environment, by: now, limit: limit, link)
            let entries = part.entries.map {
                Entry(
                    lineage: $0.lineage, holder: $0.holder, at: $0.at, score: $0.score, partition: partition,
                    member: $0.member)
            }
            return (entries: entries, removed: part.removed)
        }
        strays.removed(found.reduce(0) { $0 + $1.removed })
        return Array(found.flatMap(\.entries).sorted { $0.at < $1.at }.prefix(limit))
    }

    /// How many are due now, and how many are entered at all.
    package func counts() async throws(StoreError) -> (due: Int, scheduled: Int) {
        let now = clock.now()
        let found = try await link.each(Array(0..<StorageLayout.partitions)) {
            (link, partition) async throws(StoreError) in
            let due = try await link.send("ZCOUNT", key(partition), ["-inf", RedisArgument(now.milliseconds)])
            let all = try await link.send("ZCARD", key(partition))
            return (due: Int(clamping: due.integer ?? 0), all: Int(clamping: all.integer ?? 0))
        }
        return (found.reduce(0) { $0 + $1.due }, found.reduce(0) { $0 + $1.all })
    }

    /// Looks at what the customer has now.
    package func look(at entry: Entry) async throws(StoreError) -> Finding {
        let now = clock.now()
        let map = rules.map
        let customer = try await CustomerReader(redis: link.redis).read(
            key: StorageLayout.key(entry.holder.path(app, environment)), app: app, environment: environment)
        var finding = Finding(mapVersion: map.version)
        guard let record = customer.records.first(where: { $0.lineage == entry.lineage }) else { return finding }
        let evaluation = record.evaluated(at: now, map: map, policy: rules.evaluation)
        finding.record = record
        finding.evaluation = evaluation
        finding.next = Reminder.next(for: record, map: map, policy: rules.evaluation, after: now)
        guard entry.holder.customer != nil,
            let reminder = Reminder.due(
                for: record, map: map, policy: rules.evaluation, scheduled: entry.at, at: now),
            try await link.send("GET", notes(entry)).string != Self.note(reminder)
        else { return finding }
        finding.reminder = reminder
        for other in customer.records where other.lineage != entry.lineage {
            let then = other.evaluated(at: reminder.end, map: map, policy: rules.evaluation)
            if then.access { finding.kept.formUnion(then.entitlements.intersection(evaluation.entitlements)) }
        }
        return finding
    }

    /// Notes that it was said, if it was, and moves the entry on to the next reminder; one that was entered anew meanwhile
    /// stays. False when nothing was moved.
    @discardableResult
    package func settle(_ entry: Entry, _ finding: Finding) async throws(StoreError) -> Bool {
        let said = finding.reminder
        let kept = said.map { max(1000, ($0.end - clock.now()) / .milliseconds(1)) + 86_400_000 }
        return try await link.evaluate(
            ReminderScripts.settle, keys: [key(entry.partition), notes(entry)],
            arguments: [
                .text(entry.member), .text(entry.score),
                finding.next.map { RedisArgument($0.at.milliseconds) } ?? "", .text(said.map(Self.note) ?? ""),
                RedisArgument(Int64(kept ?? 0)),
            ]) != nil
    }

    private func key(_ partition: Int) -> String {
        StorageLayout.reminders(app, environment, partition: partition)
    }

    private func notes(_ entry: Entry) -> String {
        StorageLayout.reminded(entry.lineage, holder: entry.holder, at: entry.holder.path(app, environment))
    }

    private static func note(_ reminder: Reminder) -> String {
        "\(reminder.end.milliseconds) \(reminder.lead.rawValue)"
    }
}

private enum ReminderScripts {
    /// KEYS: reminders, note. ARGV: member, score seen, next score or nothing, note or nothing, how long that is kept.
    static let settle = RedisScript(
        DueScripts.same + """
            if ARGV[4] ~= '' then redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[5]) end
            if not same(redis.call('ZSCORE', KEYS[1], ARGV[1]), ARGV[2]) then return 0 end
            if ARGV[3] == '' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
            if same(ARGV[2], ARGV[3]) then return 0 end
            redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
            return 1
            """)
}
