import JSON
import Time

/// What the store says of one account from one moment on: its purchases, and until when each is paid.
///
/// It is both the truth of a moment and what somebody knows who has heard nothing since.
struct KnownState: Sendable, Hashable {
    enum State: String, Sendable { case active, canceled, gracePeriod, billingRetry, expired, revoked }

    struct Purchase: Sendable, Hashable {
        let product: String
        let state: State
        /// The end of what is paid, or of the grace; nil for what does not end.
        let until: Timestamp?
    }

    var purchases: [Purchase] = []

    static let nothing = KnownState()

    /// Whether the last purchase will not renew.
    var isCanceled: Bool { purchases.last?.state == .canceled }

    /// What the account may use at `instant`, when nothing has been heard since.
    ///
    /// What should renew and is over without a word is held for `hold`; what was said to end ends.
    func entitlements(at instant: Timestamp, hold: Duration, map: [String: Set<String>]) -> Set<String> {
        purchases.reduce(into: Set<String>()) { all, purchase in
            let end: Timestamp? =
                switch purchase.state {
                case .active: purchase.until.map { $0 + hold }
                case .canceled, .gracePeriod: purchase.until
                case .billingRetry, .expired, .revoked: instant
                }
            guard end.map({ instant < $0 }) ?? true else { return }
            all.formUnion(map[purchase.product] ?? [])
        }
    }
}

extension KnownState {
    /// Reads the simulator's `truth` of one account.
    init(truth: [JSONValue]) throws(DemoError) {
        for value in truth {
            guard let state = value["state"]?.string.flatMap(State.init(rawValue:)),
                let product = value["productId"]?.string
            else { throw DemoError("the simulator tells a truth that this version cannot read") }
            let until = value["accessUntil"]?.string.flatMap { Timestamp(rfc3339: $0) }
            purchases.append(Purchase(product: product, state: state, until: until))
        }
    }
}

extension KnownState: CustomStringConvertible {
    var description: String {
        let words = purchases.map { "\($0.product) \($0.state.rawValue) until \($0.until?.rfc3339 ?? "ever")" }
        return words.isEmpty ? "nothing" : words.joined(separator: " and ")
    }
}

/// What was true of one account, from its beginning on.
struct Lifeline: Sendable {
    struct Entry: Sendable {
        let since: Timestamp
        let state: KnownState
    }

    let createdAt: Timestamp
    /// In the order of time. Before the first nothing was bought.
    private(set) var entries: [Entry] = []

    init(createdAt: Timestamp) { self.createdAt = createdAt }

    mutating func add(_ state: KnownState, since: Timestamp) {
        if let last = entries.last, last.state == state { return }
        // The store signs facts of one moment a millisecond apart.
        entries.append(Entry(since: max(since, entries.last?.since ?? since), state: state))
    }

    var latest: KnownState { entries.last?.state ?? .nothing }

    func state(at instant: Timestamp) -> KnownState { entries.last { $0.since <= instant }?.state ?? .nothing }

    /// The last few changes before `instant`, for people.
    func story(until instant: Timestamp) -> String {
        entries.filter { $0.since <= instant }.suffix(6).map { "\($0.since.rfc3339) \($0.state)" }
            .joined(separator: "; ")
    }

    /// What was the latest that one could know at any moment from `start` to `end`, newest first, each with the moment at
    /// which it stopped being the latest; nil for what nothing has followed.
    func states(from start: Timestamp, to end: Timestamp) -> [(state: KnownState, overSince: Timestamp?)] {
        var found: [(KnownState, Timestamp?)] = []
        var next: Timestamp?
        for entry in entries.reversed() {
            if entry.since <= end { found.append((entry.state, next)) }
            if entry.since <= start { return found }
            next = entry.since
        }
        found.append((.nothing, next))
        return found
    }
}
