package import CacheTier
import Entitlements
package import Runtime
import Time

/// Compares what Apple says it sent with what came, every few minutes and after each gap: each time from where the last
/// one ended, and a window before that, so that in the end no moment was left out. What is missing goes through the line.
///
/// One consumer does it at a time, under a lease; what a dead one left is gone on with.
package struct RegularCheck: Sendable {
    package let jobs: RecoveryStore
    private let backfill: Backfill
    private let seen: SeenNotifications
    private let settings: BackfillSettings
    private let lanes: Int
    private let standings: BackfillStandings
    private let clock: WallClock
    private let log: Log

    package init(
        jobs: RecoveryStore, backfill: Backfill, seen: SeenNotifications, settings: BackfillSettings, lanes: Int,
        standings: BackfillStandings, clock: WallClock = .system, log: Log
    ) {
        self.jobs = jobs
        self.backfill = backfill
        self.seen = seen
        self.settings = settings
        self.lanes = lanes
        self.standings = standings
        self.clock = clock
        self.log = log.part("backfill").with([
            "app": .init(jobs.app), "environment": .init(jobs.environment.rawValue),
        ])
    }

    /// Makes a check if one is due and nobody else is at it; returns what it found.
    @discardableResult
    package func look() async throws(RecoveryFailure) -> BackfillCheck? {
        let standing = try await standing()
        guard isDue(standing, at: clock.now()) else { return nil }
        let found = try await jobs.leased(RecoveryStore.regularName, log) {
            () async throws(RecoveryFailure) -> BackfillCheck? in
            // Another one may have made it meanwhile.
            let standing = try await self.standing()
            guard isDue(standing, at: clock.now()) else { return nil }
            return try await check(standing)
        }
        return found ?? nil
    }

    /// Whether it is time for one.
    func isDue(_ standing: RecoveryStore.Standing, at now: Timestamp) -> Bool {
        guard standing.check != nil, let job = standing.job, job.phase == .done else { return true }
        let age = now - job.createdAt
        // A clock that was set back must not keep it from going on.
        if age < .zero || age >= settings.every { return true }
        return age >= min(settings.every, Self.soonest) && standing.gaps.contains { $0.until <= now - settings.grace }
    }

    /// After a gap it need not be waited for the regular time, but for so long.
    private static let soonest = Duration.seconds(30)

    // MARK: One check

    private func check(_ standing: RecoveryStore.Standing) async throws(RecoveryFailure) -> BackfillCheck {
        let start = clock.now()
        var standing = standing
        for index in standing.gaps.indices {
            let gap = standing.gaps[index]
            standing.gaps[index] = try await stored { () async throws(StoreError) in
                try await jobs.cap(gap, at: start)
            }
        }
        if standing.check == nil { try await addFirst(standing, at: start) }
        let missing = FoundMissing(try await stored { () async throws(StoreError) in try await jobs.missing() })
        let job: RecoveryJob
        if let left = standing.job, left.phase == .history {
            job = left
        } else {
            job = next(after: standing, missing.all, at: start)
        }
        var done = try await backfill.run(job, missing: missing) { [jobs] job throws(RecoveryStore.Failure) in
            // First what was found, or it would be forgotten with this process.
            if let news = missing.news() { try await jobs.save(news) }
            try await jobs.save(job)
        }
        let left = try await stillMissing(missing.all)
        let (from, until) = (done.history.from, done.history.until)
        let before = standing.check.flatMap { $0.until >= from ? $0.since : nil }
        var check = BackfillCheck(checkedAt: clock.now(), from: from, until: until, since: min(before ?? from, from))
        let figures = done.history.figures
        (check.sent, check.found, check.unusable) = (figures.sent, figures.new, figures.unusable)
        check.missing = left.count
        let earliest = Backfill.earliest(in: jobs.environment, now: start)
        let covered = standing.gaps.filter { $0.until <= until && (from <= $0.from || $0.from < earliest) }
        check.gaps = covered.map(\.cause)
        done.phase = .done
        try await saved { () async throws(RecoveryStore.Failure) in
            try await jobs.save(left)
            try await jobs.save(check)
            try await jobs.save(done)
        }
        try await stored { () async throws(StoreError) in try await jobs.clear(covered) }
        tell(check)
        _ = try await self.standing()
        return check
    }

    /// Begins where the last one ended, or with what is in doubt since before that, and a window earlier.
    func next(
        after standing: RecoveryStore.Standing, _ missing: MissingNotifications, at now: Timestamp
    ) -> RecoveryJob {
        let until = now - settings.grace
        let doubts = [standing.check?.until, missing.overdue(at: now)] + standing.gaps.map(\.from)
        let from = max(
            min(doubts.compactMap(\.self).min() ?? until, until) - settings.window,
            Backfill.earliest(in: jobs.environment, now: now))
        return RecoveryJob(
            name: RecoveryStore.regularName, cause: .regular, phase: .history,
            history: BackfillProgress(from: from, until: until, lanes: lanes), at: now)
    }

    /// Nothing of this app's history was ever read: all that Apple keeps is, beside what is read regularly.
    private func addFirst(
        _ standing: RecoveryStore.Standing, at now: Timestamp
    ) async throws(RecoveryFailure) {
        guard standing.first == nil else { return }
        let from = max(now - settings.reach, Backfill.earliest(in: jobs.environment, now: now))
        let job = RecoveryJob(
            name: RecoveryStore.newAppName, cause: .newApp, phase: .history,
            history: BackfillProgress(from: from, until: now, lanes: lanes), at: now)
        try await stored { () async throws(StoreError) in try await jobs.add(job) }
        log.info("an app is new here; all of its history that Apple keeps is read", ["from": .init(from)])
    }

    /// Those that no consumer has settled even now.
    private func stillMissing(
        _ missing: MissingNotifications
    ) async throws(RecoveryFailure) -> MissingNotifications {
        var left = missing
        let listed = missing.named.map { SeenNotifications.Listed(uuid: $0.key, signedDate: $0.value.signedDate) }
        let verdicts = try await stored { () async throws(StoreError) in
            try await seen.verdicts(on: listed, of: jobs.app, in: jobs.environment)
        }
        for (one, verdict) in zip(listed, verdicts) where verdict != .new { left.remove(one.uuid) }
        return left
    }

    private func tell(_ check: BackfillCheck) {
        let fields: Log.Fields = [
            "sentByApple": .init(check.sent), "found": .init(check.found), "notWithUs": .init(check.notWithUs),
            "from": .init(check.from), "until": .init(check.until),
            "gaps": .init(check.gaps.map(\.rawValue).joined(separator: " ")),
        ]
        if check.notWithUs > 0 {
            log.warning("Apple sent what is not with us", fields)
        } else if check.found > 0 || !check.gaps.isEmpty {
            log.info("what Apple sent was compared with what came", fields)
        } else {
            log.debug("what Apple sent was compared with what came", fields)
        }
    }

    private func standing() async throws(RecoveryFailure) -> RecoveryStore.Standing {
        let standing = try await stored { () async throws(StoreError) in try await jobs.standing() }
        standings.note(standing, of: jobs.app, jobs.environment)
        return standing
    }

    private func stored<Value>(
        _ body: () async throws(StoreError) -> Value
    ) async throws(RecoveryFailure) -> Value {
        do throws(StoreError) { return try await body() } catch { throw .store(error) }
    }

    private func saved(_ body: () async throws(RecoveryStore.Failure) -> Void) async throws(RecoveryFailure) {
        do throws(RecoveryStore.Failure) { try await body() } catch { throw RecoveryFailure(error) }
    }
}
