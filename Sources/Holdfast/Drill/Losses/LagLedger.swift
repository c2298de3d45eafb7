import Time

/// Measures how long after the truth changed the read changed. Pure: what happens and what is read is told to it.
///
/// A change shows when an answer is what the store said after it, or after any later one. What changes nothing that an
/// answer could show is left out, and so is what was undone before anybody saw it.
struct LagLedger: Sendable {
    /// What the simulator does with the notification of a change.
    enum Fate: String, Sendable, CaseIterable {
        case sent, late, lateUnlisted, lost, lostUnlisted

        var words: String {
            switch self {
            case .sent: "notification sent at once"
            case .late: "sent late, listed"
            case .lateUnlisted: "sent late, not listed before"
            case .lost: "lost, listed"
            case .lostUnlisted: "lost, not listed"
            }
        }
    }

    struct Sample: Sendable {
        let account: String
        let at: Timestamp
        let fate: Fate
        let lag: Duration
    }

    struct Pending: Sendable {
        let at: Timestamp
        let fate: Fate
        let name: String
        fileprivate let truth: TrueLineage
        fileprivate let before: TrueLineage?
    }

    private(set) var samples: [Sample] = []
    /// Changes that no answer has shown yet, by account and lineage, oldest first.
    private(set) var pending: [String: [String: [Pending]]] = [:]
    private var truth: [String: TrueLineage] = [:]

    /// Something happened to `account`; `truth` is what it has since.
    mutating func happens(_ name: String, to account: String, at time: Timestamp, _ truth: [TrueLineage], _ fate: Fate)
    {
        for lineage in truth {
            let before = self.truth.updateValue(lineage, forKey: lineage.id)
            let sight = lineage.sight(at: time)
            guard before?.sight(at: time) != sight else { continue }
            let waiting = pending[account]?[lineage.id] ?? []
            if let first = waiting.first, first.before?.sight(at: time) == sight {
                // As if nothing had happened: nobody can say any more whether it was seen.
                set([], of: account, lineage.id)
            } else {
                let change = Pending(at: time, fate: fate, name: name, truth: lineage, before: before)
                set(waiting + [change], of: account, lineage.id)
            }
        }
    }

    /// An answer about `account` showed `sights` at `instant`.
    mutating func shows(_ sights: LineageSights, of account: String, at instant: Timestamp) {
        for (id, waiting) in pending[account] ?? [:] {
            // What happens while an answer is under way may be in it.
            let last = waiting.lastIndex { change in
                change.at <= instant && sights.sight(of: change.truth) == change.truth.sight(at: instant)
            }
            guard let last else { continue }
            for change in waiting[...last] {
                samples.append(Sample(account: account, at: change.at, fate: change.fate, lag: instant - change.at))
            }
            set(Array(waiting[(last + 1)...]), of: account, id)
        }
    }

    private mutating func set(_ changes: [Pending], of account: String, _ lineage: String) {
        pending[account, default: [:]][lineage] = changes.isEmpty ? nil : changes
        if pending[account]?.isEmpty == true { pending[account] = nil }
    }

    /// Changes from before `instant` that no answer has shown, in words.
    func unseen(before instant: Timestamp) -> [String] {
        pending.sorted { $0.key < $1.key }.flatMap { account, lineages in
            lineages.values.joined().filter { $0.at < instant }.map {
                "\($0.at.rfc3339) \($0.name) of \(account), \($0.fate.words)"
            }
        }
    }

    /// Since when `account` waits for its oldest change to show.
    func waiting(_ account: String) -> Timestamp? { pending[account]?.values.compactMap { $0.first?.at }.min() }
}

/// The lags of some changes.
struct LagFigures: Sendable {
    let count: Int
    let median: Duration
    let percentile99: Duration
    let worst: Duration

    /// Nil of none.
    init?(_ samples: some Sequence<LagLedger.Sample>) {
        let lags = samples.map(\.lag).sorted()
        guard let last = lags.last else { return nil }
        count = lags.count
        worst = last
        median = lags[(lags.count - 1) / 2]
        percentile99 = lags[min(lags.count - 1, Int((Double(lags.count) * 0.99).rounded(.down)))]
    }
}
