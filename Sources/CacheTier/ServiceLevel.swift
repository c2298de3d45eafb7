internal import AppStore

/// How good an answer is (invariant 8). The worse of two inputs wins:
///
/// | | Apple's API | the tier that answered |
/// |---|---|---|
/// | S | fine, or nobody asks | known to be what the store has, as of a few seconds ago |
/// | A | a call was slow or failed | last known to be so at most 24 h ago (`cache.staleBound`) |
/// | B | three in a row | longer ago, or nobody knows when |
///
/// Apple's part is `AppleHealthTracker`'s: back to fine takes several good calls. An answer is known to be what the store
/// has while the change feed is live, or when it was just read from the store.
package enum ServiceLevel: String, Sendable, Comparable, CaseIterable {
    case s = "S"
    case a = "A"
    case b = "B"

    /// The better is the lesser.
    package static func < (x: ServiceLevel, y: ServiceLevel) -> Bool { x.rank < y.rank }

    private var rank: Int {
        switch self {
        case .s: 0
        case .a: 1
        case .b: 2
        }
    }

    /// Whether the client should offer to buy.
    package var allowsPurchase: Bool { self != .b }
    /// Whether the client should offer to manage the subscription.
    package var allowsManaging: Bool { self == .s }
    /// Whether we are catching up with the truth.
    package var isSyncing: Bool { self != .s }
}

/// Why an answer is not better than it is; the first that applies, from worst to best.
package enum ServiceReason: String, Sendable, CaseIterable {
    /// Nothing is wrong.
    case current
    /// A call to Apple was slow or failed.
    case appleSlow
    /// Several calls to Apple failed in a row.
    case appleUnreachable
    /// The store has not been heard from; the answer is from memory.
    case storeSilent
    /// The store has not been heard from for longer than the bound.
    case storeSilentTooLong
    /// A change is known to have happened, and could not be read yet.
    case changePending
    /// The store lost data and may not know everything again yet.
    case storeReplaced
}

extension AppleHealth {
    /// What it makes of an answer. Who does not ask Apple has no worse answers for it.
    var grade: ServiceGrade {
        switch self {
        case .notAsked, .fine: ServiceGrade(.s, .current)
        case .degraded: ServiceGrade(.a, .appleSlow)
        case .unreachable: ServiceGrade(.b, .appleUnreachable)
        }
    }
}

/// A level and what it is due to.
struct ServiceGrade: Sendable, Hashable {
    let level: ServiceLevel
    let reason: ServiceReason

    init(_ level: ServiceLevel, _ reason: ServiceReason) {
        self.level = level
        self.reason = reason
    }

    /// The worse of the two; the store's, when they are equal.
    static func worse(_ store: ServiceGrade, _ apple: ServiceGrade) -> ServiceGrade {
        apple.level > store.level ? apple : store
    }

    /// What the age of the knowledge makes of an answer.
    /// - Parameters:
    ///   - age: since the answer was last known to be what the store has.
    ///   - cause: why it may be something else, beyond its age.
    static func store(age: Duration, cause: ServiceReason?, liveFor: Duration, staleBound: Duration) -> ServiceGrade {
        if age > staleBound { return ServiceGrade(.b, .storeSilentTooLong) }
        if let cause { return ServiceGrade(.a, cause) }
        return age <= liveFor ? ServiceGrade(.s, .current) : ServiceGrade(.a, .storeSilent)
    }
}
