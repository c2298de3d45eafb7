import JSON
import Time

/// What can be seen of one lineage at an instant: in the store, and in an answer. Equal, if the answer is true to the store.
struct LineageSight: Sendable, Hashable {
    var access: Bool
    /// Nil for what is no subscription: of that answers name only those who have access.
    var subscription: Subscription?

    struct Subscription: Sendable, Hashable {
        var state: String
        var product: String
        /// Nil once it will not renew.
        var nextProduct: String?
        /// The end of the period that runs; nil where it decides nothing any more.
        var expiresAt: Timestamp?
        /// Whether the period after that is paid.
        var isPaidAhead = false
    }
}

extension LineageSight: CustomStringConvertible {
    var description: String {
        guard let subscription else { return access ? "bought" : "not bought" }
        return [
            subscription.product, subscription.state, access ? "with access" : "without access",
            subscription.expiresAt.map { "until \($0.rfc3339)" }, subscription.nextProduct.map { "then \($0)" },
            subscription.isPaidAhead ? "paid ahead" : nil,
        ].compactMap(\.self).joined(separator: ", ")
    }
}

/// One line of the simulator's truth: what a lineage is from one moment on, as long as nothing happens to it.
struct TrueLineage: Sendable, Hashable {
    let account: String
    let id: String
    let isSubscription: Bool
    let state: KnownState.State
    let product: String
    let nextProduct: String?
    let expiresAt: Timestamp?
    /// The end of a grace, or of the next period if it is paid already.
    let accessUntil: Timestamp?

    func sight(at instant: Timestamp) -> LineageSight {
        let grants: Bool =
            switch state {
            case .active, .canceled, .gracePeriod: accessUntil.map { instant < $0 } ?? true
            case .billingRetry, .expired, .revoked: false
            }
        guard isSubscription else { return LineageSight(access: grants) }
        let isPaid = state == .active || state == .canceled
        let hasNext = isPaid && expiresAt.flatMap { end in accessUntil.map { $0 > end } } ?? false
        let hasBegun = hasNext && expiresAt.map { $0 <= instant } ?? false
        let renews = state == .active || state == .gracePeriod || state == .billingRetry
        return LineageSight(
            access: grants,
            subscription: LineageSight.Subscription(
                state: state.rawValue, product: product, nextProduct: renews ? nextProduct : nil,
                expiresAt: grants ? (hasBegun ? accessUntil : expiresAt) : nil, isPaidAhead: hasNext && !hasBegun))
    }
}

extension TrueLineage {
    init(_ value: JSONValue) throws(DemoError) {
        guard let account = value["account"]?.string, let id = value["originalTransactionId"]?.string,
            let type = value["type"]?.string, let product = value["productId"]?.string,
            let state = value["state"]?.string.flatMap(KnownState.State.init(rawValue:))
        else { throw DemoError("the simulator tells a truth that this version cannot read") }
        self.account = account
        self.id = id
        isSubscription = type == "Auto-Renewable Subscription"
        self.state = state
        self.product = product
        nextProduct = value["nextProductId"]?.string
        expiresAt = value["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        accessUntil = value["accessUntil"]?.string.flatMap { Timestamp(rfc3339: $0) }
    }
}

/// What an answer shows of all lineages of its customer.
struct LineageSights: Sendable, Hashable {
    private(set) var subscriptions: [String: LineageSight] = [:]
    /// The lineages that grant something.
    private(set) var grantors: Set<String> = []

    init() {}

    /// Reads the body of an answer.
    init(_ body: JSONValue) {
        for entitlement in body["entitlements"]?.array ?? [] where entitlement["active"]?.bool == true {
            grantors.formUnion((entitlement["grantedBy"]?.array ?? []).compactMap(\.string))
        }
        for value in body["subscriptions"]?.array ?? [] {
            guard let id = value["originalTransactionId"]?.string else { continue }
            subscriptions[id] = LineageSight(value)
        }
    }

    func sight(of lineage: TrueLineage) -> LineageSight? {
        lineage.isSubscription ? subscriptions[lineage.id] : LineageSight(access: grantors.contains(lineage.id))
    }

    /// The lineages that do not look as the store says.
    func differences(from truth: [TrueLineage], at instant: Timestamp) -> [TrueLineage] {
        truth.filter { sight(of: $0) != $0.sight(at: instant) }
    }
}

extension LineageSight {
    fileprivate init(_ value: JSONValue) {
        func time(_ name: String) -> Timestamp? { value[name]?.string.flatMap { Timestamp(rfc3339: $0) } }
        let (state, next) = (value["state"]?.string ?? "", value["nextState"]?.string)
        let isPaid = state == "active" || state == "canceled"
        access = value["access"]?.bool ?? false
        let expiresAt = time("expiresAt")
        subscription = Subscription(
            state: state, product: value["productId"]?.string ?? "", nextProduct: value["nextProductId"]?.string,
            expiresAt: access ? expiresAt : nil,
            isPaidAhead: isPaid && expiresAt != nil && time("nextChangeAt") == expiresAt
                && (next == "active" || next == "canceled"))
    }
}
