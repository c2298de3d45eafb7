import Time

/// What the drill has broken, since when, and until when.
struct Faults: Sendable {
    enum Part: Sendable, Hashable {
        case redis, broker, apple
        /// Some notifications are lost or late.
        case news
        case gateway(Int)
        case consumer(Int)

        /// The name that the control program and people know.
        var name: String {
            switch self {
            case .redis: "redis"
            case .broker: "rabbitmq"
            case .apple: "apple"
            case .news: "news"
            case .gateway(let number): "gateway-\(number + 1)"
            case .consumer(let number): "consumer-\(number + 1)"
            }
        }

        /// Whether news cannot pass while it is away.
        var holdsUpNews: Bool {
            switch self {
            case .redis, .broker, .apple, .consumer: true
            case .gateway, .news: false
            }
        }
    }

    /// One outage. Breaking and mending take a while, during which either may be the case.
    struct Outage: Sendable {
        let part: Part
        let breaking: Timestamp
        var broken: Timestamp?
        var mending: Timestamp?
        var mended: Timestamp?

        /// Whether the part was certainly away at `instant`.
        func isSurelyAway(at instant: Timestamp) -> Bool {
            guard let broken, instant >= broken else { return false }
            return mending.map { instant < $0 } ?? true
        }

        /// Whether the part may have been away at `instant`.
        func mayBeAway(at instant: Timestamp) -> Bool {
            instant >= breaking && (mended.map { instant <= $0 } ?? true)
        }
    }

    private(set) var outages: [Outage] = []
    /// When every answer was seen to be right before anything was broken.
    private(set) var settledAt: Timestamp?
    /// When Redis came back without its data.
    private(set) var dataLostAt: Timestamp?
    /// When all was seen to be as it should after everything was mended.
    private(set) var recoveredAt: Timestamp?

    mutating func breaks(_ part: Part, at instant: Timestamp) {
        recoveredAt = nil
        outages.append(Outage(part: part, breaking: instant))
    }

    mutating func isBroken(_ part: Part, at instant: Timestamp) { change(part) { $0.broken = instant } }
    mutating func mends(_ part: Part, at instant: Timestamp) { change(part) { $0.mending = instant } }
    mutating func isMended(_ part: Part, at instant: Timestamp) { change(part) { $0.mended = instant } }
    mutating func settles(at instant: Timestamp) { settledAt = instant }
    mutating func losesData(at instant: Timestamp) { dataLostAt = instant }
    mutating func recovers(at instant: Timestamp) { recoveredAt = instant }

    private mutating func change(_ part: Part, _ body: (inout Outage) -> Void) {
        guard let place = outages.lastIndex(where: { $0.part == part }) else { return }
        body(&outages[place])
    }

    func outages(of part: Part) -> [Outage] { outages.filter { $0.part == part } }

    /// The last outage of `part` that had begun by `instant`.
    func last(_ part: Part, by instant: Timestamp) -> Outage? {
        outages.last { $0.part == part && $0.breaking <= instant }
    }

    /// Since when news may have been held up, as seen at `instant`; nil when none was, or all is recovered since. Outages
    /// of which one begins before another is recovered count as one.
    func heldUpSince(at instant: Timestamp, recoveryBound: Duration) -> Timestamp? {
        if let recoveredAt, instant >= recoveredAt { return nil }
        var since: Timestamp?
        var until: Timestamp?
        for outage in outages where outage.part.holdsUpNews && outage.breaking <= instant {
            if let end = until, end < outage.breaking { since = nil }
            since = since ?? outage.breaking
            guard let mended = outage.mended else { return since }
            let end = mended + recoveryBound
            until = until.map { max($0, end) } ?? end
        }
        return until.map { instant <= $0 } ?? false ? since : nil
    }

    /// Whether there may be notifications that were lost, or are late, and that nobody has made up for yet.
    func isNewsLost(at instant: Timestamp) -> Bool {
        outages.contains { $0.part == .news && $0.breaking <= instant } && recoveredAt.map { instant < $0 } ?? true
    }

    /// When the last of what was broken was whole again; nil while something is not.
    var allMendedAt: Timestamp? {
        let ends = outages.map(\.mended)
        guard !ends.isEmpty, ends.allSatisfy({ $0 != nil }) else { return nil }
        return ends.compactMap(\.self).max()
    }
}
