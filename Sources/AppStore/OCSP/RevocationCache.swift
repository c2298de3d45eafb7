internal import Time

/// What is known about certificates, by fingerprint: what responders said, who is being asked, who did not answer.
/// Bounded by count. No I/O and no clock of its own.
struct RevocationCache {
    /// What to do about one certificate.
    enum Step {
        /// Known; `age` is that of the answer, nil if there was none.
        case known(RevocationStatus, age: Duration?)
        /// Somebody asks already.
        case wait(Task<RevocationStatus, Never>)
        case ask
    }

    private struct Entry {
        var answer: (OCSPAnswer, at: ContinuousClock.Instant)?
        var failure: (RevocationStatus, at: ContinuousClock.Instant)?
        var asking: Task<RevocationStatus, Never>?
        var usedAt: ContinuousClock.Instant
    }

    let settings: RevocationSettings
    private var entries: [String: Entry] = [:]

    init(_ settings: RevocationSettings) { self.settings = settings }

    var count: Int { entries.count }

    mutating func step(
        for fingerprint: String, now: Timestamp, monotonic: ContinuousClock.Instant
    ) -> Step {
        guard var entry = entries[fingerprint] else { return .ask }
        entry.usedAt = monotonic
        entries[fingerprint] = entry
        if let (answer, at) = entry.answer, monotonic - at < settings.maximumAge, isGood(answer, now) {
            return .known(RevocationStatus(answer.verdict, until: answer.nextUpdate), age: monotonic - at)
        }
        if let asking = entry.asking { return .wait(asking) }
        if let (status, at) = entry.failure, monotonic - at < settings.retryAfter {
            return fallback(entry, now, monotonic) ?? .known(status, age: nil)
        }
        return .ask
    }

    mutating func asking(
        _ task: Task<RevocationStatus, Never>, about fingerprint: String, at now: ContinuousClock.Instant
    ) {
        entries[fingerprint, default: Entry(usedAt: now)].asking = task
        makeRoom(keeping: fingerprint)
    }

    /// Notes how a question ended, and says what it comes to: when nobody answered, an older answer that is not past
    /// its date counts on.
    mutating func asked(
        about fingerprint: String, _ result: Result<OCSPAnswer, OCSPFailure>, now: Timestamp,
        monotonic: ContinuousClock.Instant
    ) -> RevocationStatus {
        var entry = entries[fingerprint] ?? Entry(usedAt: monotonic)
        defer {
            entries[fingerprint] = entry
            makeRoom(keeping: fingerprint)
        }
        entry.asking = nil
        switch result {
        case .success(let answer) where answer.verdict == .unknown:
            // Responders may not know a new certificate yet, so this is soon asked again; and it takes nothing back.
            entry.failure = (.unknown, monotonic)
        case .success(let answer):
            entry.answer = (answer, monotonic)
            entry.failure = nil
            return RevocationStatus(answer.verdict, until: answer.nextUpdate)
        case .failure(let failure): entry.failure = (RevocationStatus(failure), monotonic)
        }
        if case .known(let status, _)? = fallback(entry, now, monotonic) { return status }
        return entry.failure?.0 ?? .unknown
    }

    private func fallback(_ entry: Entry, _ now: Timestamp, _ monotonic: ContinuousClock.Instant) -> Step? {
        guard let (answer, at) = entry.answer, isGood(answer, now) else { return nil }
        return .known(RevocationStatus(answer.verdict, until: answer.nextUpdate), age: monotonic - at)
    }

    private func isGood(_ answer: OCSPAnswer, _ now: Timestamp) -> Bool { answer.nextUpdate >= now - settings.skew }

    /// Drops what was not used for the longest time, but nothing that is being asked about.
    private mutating func makeRoom(keeping fingerprint: String) {
        while entries.count > max(2, settings.certificates),
            let oldest = entries.filter({ $0.key != fingerprint && $0.value.asking == nil })
                .min(by: { $0.value.usedAt < $1.value.usedAt })?.key
        {
            entries[oldest] = nil
        }
    }
}
