package import Entitlements
package import Redis
package import Runtime
internal import Time

/// Enters the lineages that an earlier version stored into the schedule, once for each app, while the line runs.
///
/// A walk over all holders whose place is kept in Redis, under a lease: whoever takes over goes on there. What a consumer
/// of this version writes meanwhile stands in the schedule already and is left alone.
package struct ScheduleFilling: Sendable {
    package enum Outcome: Sendable, Hashable {
        /// So many checks were entered by this run.
        case done(entered: Int)
        /// It was done before.
        case already
        /// Another process is at it.
        case busy
        /// The task was cancelled; it goes on from there.
        case interrupted
    }

    private let redis: any RedisCommands
    package let app: AppID
    private let rules: StoreRules
    private let clock: WallClock
    private let lease: Lease
    private let keysAtOnce: Int

    private static let finished = "done"
    /// What is due for long already is spread over this time, so as not to be overdue all at once.
    private static let spread = Duration.seconds(86_400)

    package init(
        redis: any RedisCommands, app: AppID, rules: StoreRules, clock: WallClock = .system,
        leaseTime: Duration = .seconds(30), keysAtOnce: Int = 500
    ) {
        self.redis = redis
        self.app = app
        self.rules = rules
        self.clock = clock
        self.keysAtOnce = keysAtOnce
        lease = Lease(
            redis: redis, key: StorageLayout.scheduledLease(of: app), owner: Lease.newOwner(), time: leaseTime)
    }

    /// Begins, or goes on with, what is not done.
    package func run() async throws(StoreError) -> Outcome {
        let link = StoreLink(redis: redis)
        let field = StorageLayout.escaped(app.rawValue)
        guard let place = Place(try await link.send("HGET", StorageLayout.scheduledKey, [.text(field)]).string)
        else { return .already }
        guard try await attempt({ () async throws(RedisError) in try await lease.take() }) else { return .busy }
        var (cursor, server) = (place.cursor, place.server)
        var entered = 0
        var scan = HolderScan(redis: redis, app: app, keysAtOnce: keysAtOnce)
        repeat {
            if Task.isCancelled {
                try await attempt { () async throws(RedisError) in try await lease.release() }
                return .interrupted
            }
            let batch = try await scan.batch(after: cursor)
            entered += try await enter(batch.found, link)
            // A cursor of another run of the server, or of other slots, means nothing: from the beginning then.
            let isSame = cursor == HolderScan.beginning || batch.server == server
            (cursor, server) = (isSame ? batch.cursor : HolderScan.beginning, batch.server)
            let isDone = isSame && batch.isLast
            let value = isDone ? Self.finished : "\(cursor) \(server)"
            guard try await save(field, value) else { return .busy }
            if isDone { break }
        } while true
        try await attempt { () async throws(RedisError) in try await lease.release() }
        return .done(entered: entered)
    }

    /// How much of it is done.
    package enum Progress: Sendable, Hashable {
        case notBegun
        case underWay(Double)
        case done

        package var fraction: Double {
            switch self {
            case .notBegun: 0
            case .underWay(let fraction): fraction
            case .done: 1
            }
        }
    }

    package func progress() async throws(StoreError) -> Progress {
        let field = StorageLayout.escaped(app.rawValue)
        let stored = try await StoreLink(redis: redis).send("HGET", StorageLayout.scheduledKey, [.text(field)]).string
        guard stored != nil else { return .notBegun }
        return Place(stored).map { .underWay(HolderScan.fraction(at: $0.cursor)) } ?? .done
    }

    private struct Place {
        var cursor = HolderScan.beginning
        var server = ""

        /// Nil when there is nothing left to do.
        init?(_ stored: String?) {
            guard let stored else { return }
            if stored == ScheduleFilling.finished { return nil }
            let parts = stored.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, HolderScan.isCursor(String(parts[0])) else { return }
            (cursor, server) = (String(parts[0]), String(parts[1]))
        }
    }

    private func save(_ field: String, _ value: String) async throws(StoreError) -> Bool {
        try await attempt { () async throws(RedisError) in
            try await lease.write(field, Array(value.utf8), of: StorageLayout.scheduledKey)
        }
    }

    private func attempt<Value>(
        _ body: () async throws(RedisError) -> Value
    ) async throws(StoreError) -> Value {
        do { return try await body() } catch { throw .redis(error) }
    }

    private struct Subject: Sendable {
        let record: LineageRecord
        let holder: Holder
    }

    /// Returns how many were not there.
    private func enter(_ found: [HolderScan.Found], _ link: StoreLink) async throws(StoreError) -> Int {
        let subjects = found.flatMap { holder in
            holder.records.map { Subject(record: $0, holder: holder.holder) }
        }
        let now = clock.now()
        let entered = try await link.each(subjects) { (link, subject) async throws(StoreError) in
            let lineage = subject.record.lineage
            let schedule = LineageSchedule(of: subject.record, under: rules, at: now)
            var isNew = false
            if let check = schedule.check {
                let work = DueWork(
                    redis: link.redis, app: app, environment: lineage.environment, clock: clock)
                isNew = try await work.fill(lineage, of: subject.holder, with: Self.spread(check, lineage, now))
            }
            if let reminder = schedule.reminder, case .customer = subject.holder {
                try await Self.enter(reminder, lineage, of: subject.holder, link)
            }
            return isNew
        }
        return entered.count { $0 }
    }

    private static func spread(_ check: DueCheck, _ lineage: LineageID, _ now: Timestamp) -> DueCheck {
        guard check.urgency == .routine, check.at <= now else { return check }
        return DueCheck(at: now + spread * Cadence.jitter(lineage, check.row), row: check.row)
    }

    private static func enter(
        _ reminder: Reminder, _ lineage: LineageID, of holder: Holder, _ link: StoreLink
    ) async throws(StoreError) {
        let path = holder.path(lineage.app, lineage.environment)
        let reminders = StorageLayout.reminders(
            lineage.app, lineage.environment, partition: StorageLayout.partition(of: path))
        _ = try await link.evaluate(
            DueScripts.enterReminder, keys: [StorageLayout.key(path), reminders],
            arguments: [
                .text(StorageLayout.field(of: lineage)), .text(LineageSchedule.member(lineage, holder)),
                RedisArgument(reminder.at.milliseconds),
            ])
    }
}
