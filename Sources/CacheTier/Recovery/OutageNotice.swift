package import Time

/// What one process has noticed of an outage of Apple's.
///
/// Each process has its own view of Apple, so several notice the same outage at different times. `job` makes one
/// recovery of it: pure, and asked with what is in Redis.
package struct OutageNotice: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// It lasts.
        case dark
        /// It is over.
        case light
    }

    package let kind: Kind
    package let began: Timestamp
    package let now: Timestamp

    package init(_ kind: Kind, began: Timestamp, now: Timestamp) {
        self.kind = kind
        self.began = began
        self.now = now
    }

    /// Another process that noticed the end so little earlier has seen to it already: what it did not ask for, Apple
    /// sends anyway, since Apple was back then.
    package static let tolerance = Duration.seconds(300)
    /// Nobody having said for so long that Apple is away, nobody is left who will say that it is back.
    package static let silence = Duration.seconds(60)

    /// The job to be stored in place of the one of its name; nil when there is nothing to do.
    package func job(among jobs: [RecoveryJob], margin: Duration, lanes: Int) -> RecoveryJob? {
        var from = began - margin
        let outages = jobs.filter { $0.cause == .outage }
        let covered = outages.filter { $0.phase > .waiting && $0.history.from <= from && $0.history.until >= began }
            .map(\.history.until).max()
        if let covered {
            if covered >= now - Self.tolerance { return nil }
            from = covered - margin
        }
        let waiting = outages.first { $0.phase == .waiting }
        if let waiting { from = min(from, waiting.history.from) }
        var job = RecoveryJob(
            name: waiting?.name ?? "outage-\(from.milliseconds)", cause: .outage, phase: .waiting,
            history: BackfillProgress(from: from, until: now, lanes: lanes), at: waiting?.createdAt ?? now)
        job.updatedAt = now
        switch kind {
        case .dark: job.darkAt = now
        case .light:
            job.darkAt = waiting?.darkAt
            job.phase = .history
        }
        return job
    }
}

extension RecoveryJob {
    /// The same, begun because whoever noticed the outage is gone; nil while it may still last.
    package func orphaned(at now: Timestamp, lanes: Int) -> RecoveryJob? {
        guard phase == .waiting, darkAt.map({ now - $0 > OutageNotice.silence }) ?? true else { return nil }
        var job = RecoveryJob(
            name: name, cause: cause, phase: .history,
            history: BackfillProgress(from: history.from, until: now, lanes: lanes), at: createdAt)
        job.darkAt = darkAt
        job.updatedAt = now
        return job
    }
}
