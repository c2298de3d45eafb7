package import Entitlements
package import Redis
package import Runtime
internal import Time

/// The lineages of an app in one environment by when Apple is to be asked about them next: claimed by one consumer at a
/// time, the most urgent first.
///
/// Every write of a record enters its next check by the same script (`LineageSchedule`), so no record is ever without one.
/// Claiming moves an entry on by the lease, so what a dead consumer had claimed comes due again by itself. What Apple's
/// answer changes is entered anew by that write; what it does not change, the claimant puts back. So nothing that is lost
/// on the way needs anybody to notice.
package struct DueWork: Sendable {
    package let app: AppID
    package let environment: StoreEnvironment
    private let link: StoreLink
    private let clock: WallClock
    private let strays: ScheduleStrays

    package init(
        redis: any RedisCommands, app: AppID, environment: StoreEnvironment, clock: WallClock = .system,
        metrics: Metrics = Metrics(), log: Log = .discarding
    ) {
        link = StoreLink(redis: redis)
        self.app = app
        self.environment = environment
        self.clock = clock
        strays = ScheduleStrays(app, environment, metrics: metrics, log: log)
    }

    // MARK: Claiming

    /// Claims what is due, `limit` lineages at most: the most urgent first, and of these what has been waiting longest.
    ///
    /// A lineage that several customers have is claimed once. Whatever is claimed must be put back, whatever came of it.
    package func claim(limit: Int, lease: Duration) async throws(StoreError) -> [DueLineage] {
        let now = clock.now()
        var claimed: [DueLineage] = []
        for urgency in Urgency.allCases {
            // Where others were faster there may be more behind.
            for _ in 0..<4 where claimed.count < limit {
                let room = limit - claimed.count
                let due = try await entries(urgency, by: now, limit: room)
                let places = Array(due.sorted { $0.since < $1.since }.prefix(room))
                let ours = try await claim(places, urgency, until: now + lease, lease: lease)
                claimed += ours
                if due.count < room || ours.count == places.count { break }
            }
        }
        return claimed
    }

    /// Whether what was claimed is still to be done: nobody has entered another time since, as news does.
    package func stands(_ due: DueLineage) async throws(StoreError) -> Bool {
        try await link.each(due.holders) { (link, holder) async throws(StoreError) in
            let partition = StorageLayout.partition(of: holder.path(app, environment))
            let member = LineageSchedule.member(due.lineage, holder)
            let score = try await link.send("ZSCORE", key(due.urgency, partition), [.text(member)]).string
            return score.flatMap(Double.init) == Double(due.leasedUntil.milliseconds)
        }.contains(true)
    }

    /// Lets go of a claimed lineage, and enters when Apple is to be asked next: nil for never, where `Cadence` says so.
    /// Changes nothing about a holder for whom somebody has entered something since, such as Apple's answer.
    package func put(back due: DueLineage, next: DueCheck?) async throws(StoreError) {
        _ = try await link.each(due.holders) { (link, holder) async throws(StoreError) in
            let partition = StorageLayout.partition(of: holder.path(app, environment))
            let sets = [due.urgency, next?.urgency].compactMap(\.self).map { key($0, partition) }
            return try await link.evaluate(
                DueScripts.putBack, keys: sets,
                arguments: [
                    .text(LineageSchedule.member(due.lineage, holder)), RedisArgument(due.leasedUntil.milliseconds),
                    next.map { RedisArgument($0.at.milliseconds) } ?? "",
                ])
        }
        do { try await lease(on: due.lineage, due.owner, .zero).release() } catch { throw .redis(error) }
    }

    /// Gives back a claimed lineage about which nobody was asked: others may claim it at once.
    package func release(_ due: DueLineage) async throws(StoreError) {
        // Any row of its urgency: the row is not kept.
        let row = CadenceRow.allCases.first { $0.urgency == due.urgency }
        try await put(back: due, next: DueCheck(at: due.since, row: row ?? .unverified))
    }

    /// Has Apple asked about a lineage at `instant` at the latest, if this holder has it; false when nothing had to change.
    @discardableResult
    package func hasten(
        _ lineage: LineageID, of holder: Holder, to check: DueCheck
    ) async throws(StoreError) -> Bool {
        try await enter(lineage, of: holder, check, "hasten")
    }

    /// Enters a lineage that stands nowhere in the schedule, because an earlier version stored it.
    func fill(_ lineage: LineageID, of holder: Holder, with check: DueCheck) async throws(StoreError) -> Bool {
        try await enter(lineage, of: holder, check, "fill")
    }

    private func enter(
        _ lineage: LineageID, of holder: Holder, _ check: DueCheck, _ way: RedisArgument
    ) async throws(StoreError) -> Bool {
        let path = holder.path(app, environment)
        let partition = StorageLayout.partition(of: path)
        let sets = [check.urgency] + Urgency.allCases
        return try await link.evaluate(
            DueScripts.enter, keys: [StorageLayout.key(path)] + sets.map { key($0, partition) },
            arguments: [
                .text(StorageLayout.field(of: lineage)), .text(LineageSchedule.member(lineage, holder)),
                RedisArgument(check.at.milliseconds), way,
            ]) != nil
    }

    // MARK: Looking

    /// So long what is due may wait before it counts as overdue.
    package static func patience(_ urgency: Urgency) -> Duration {
        switch urgency {
        case .access: .seconds(60)
        case .ending: .seconds(600)
        case .routine: .seconds(6 * 3600)
        }
    }

    /// How much is due now, and how much there is.
    package func status() async throws(StoreError) -> DueStatus {
        let now = clock.now()
        let subjects = (0..<StorageLayout.partitions).flatMap { partition in
            Urgency.allCases.map { (urgency: $0, key: key($0, partition)) }
        }
        let found = try await link.each(subjects) { (link, subject) async throws(StoreError) in
            var part = DueStatus.Part()
            let late = now - Self.patience(subject.urgency)
            part.scheduled = Int(clamping: try await link.send("ZCARD", subject.key).integer ?? 0)
            part.due = try await Self.count(subject.key, until: now, link)
            part.overdue = try await Self.count(subject.key, until: late, link)
            let first = try await link.send(
                "ZRANGEBYSCORE", subject.key, ["-inf", "+inf", "WITHSCORES", "LIMIT", "0", "1"])
            part.oldest = first.scores.first?.score
            return (subject.urgency, part)
        }
        var status = DueStatus()
        for (urgency, part) in found {
            var sum = status[urgency]
            sum.scheduled += part.scheduled
            sum.due += part.due
            sum.overdue += part.overdue
            sum.oldest = [sum.oldest, part.oldest].compactMap(\.self).min()
            status.parts[urgency] = sum
        }
        return status
    }

    private static func count(_ key: String, until: Timestamp, _ link: StoreLink) async throws(StoreError) -> Int {
        Int(clamping: try await link.send("ZCOUNT", key, ["-inf", RedisArgument(until.milliseconds)]).integer ?? 0)
    }

    // MARK: Pieces

    private struct Entry: Sendable {
        let partition: Int
        let member: String
        let since: Timestamp
        /// As Redis gave it.
        let score: String
        let holder: Holder
        let lineage: LineageID
    }

    private func key(_ urgency: Urgency, _ partition: Int) -> String {
        StorageLayout.due(urgency, app, environment, partition: partition)
    }

    private func lease(on lineage: LineageID, _ owner: String, _ time: Duration) -> Lease {
        Lease(redis: link.redis, key: StorageLayout.checkLease(of: lineage), owner: owner, time: time)
    }

    /// Of every partition the first ones, all asked for at once.
    private func entries(_ urgency: Urgency, by now: Timestamp, limit: Int) async throws(StoreError) -> [Entry] {
        let found = try await link.each(Array(0..<StorageLayout.partitions)) {
            (link, partition) async throws(StoreError) in
            let part = try await SchedulePart.due(
                in: key(urgency, partition), partition, app, environment, by: now, limit: limit, link)
            let entries = part.entries.map {
                Entry(
                    partition: partition, member: $0.member, since: $0.at, score: $0.score, holder: $0.holder,
                    lineage: $0.lineage)
            }
            return (entries: entries, removed: part.removed)
        }
        strays.removed(found.reduce(0) { $0 + $1.removed })
        return found.flatMap(\.entries)
    }

    private func claim(
        _ entries: [Entry], _ urgency: Urgency, until leased: Timestamp, lease: Duration
    ) async throws(StoreError) -> [DueLineage] {
        let parts = Dictionary(grouping: entries, by: \.partition).map(\.value)
        let ours = try await link.each(parts) { (link, part) async throws(StoreError) in
            let seen = part.flatMap { [.text($0.member), .text($0.score)] as [RedisArgument] }
            let reply: RedisReply
            do throws(RedisError) {
                reply = try await link.redis.evaluate(
                    DueScripts.claim, keys: [key(urgency, part[0].partition)],
                    arguments: [RedisArgument(leased.milliseconds)] + seen)
            } catch { throw .redis(error) }
            return zip(part, reply.array ?? []).filter { $0.1.integer == 1 }.map(\.0)
        }.flatMap(\.self)
        let lineages = Dictionary(grouping: ours, by: \.lineage).map(\.value).sorted { $0[0].since < $1[0].since }
        return try await link.each(lineages) { (_, entries) async throws(StoreError) -> DueLineage? in
            let due = DueLineage(
                lineage: entries[0].lineage, urgency: urgency, since: entries[0].since, leasedUntil: leased,
                holders: entries.map(\.holder), owner: Lease.newOwner())
            // Another holder's copy may be in somebody's hands. The lease ends before the entry comes due again.
            let isOurs: Bool
            do throws(RedisError) {
                isOurs = try await self.lease(on: due.lineage, due.owner, lease * 0.9).take()
            } catch {
                throw .redis(error)
            }
            return isOurs ? due : nil
        }.compactMap(\.self)
    }
}
