import Simulator
import Time

/// Lets the simulator's accounts live: decides by chance, from a seed, what one of them does next.
struct Lives: Sendable {
    /// One thing that an account does.
    struct Deed: Sendable, Hashable {
        let account: String
        let command: String
        var body = "{}"
    }

    private static let premium = #"{"productId":"demo.premium.monthly"}"#
    private static let basic = #"{"productId":"demo.basic.monthly"}"#
    private static let lifetime = #"{"productId":"demo.lifetime"}"#

    /// How long a month lasts.
    let month: Duration
    private var random: StoreRandom
    private var failing: Set<String> = []

    init(month: Duration, seed: UInt64) {
        self.month = month
        random = StoreRandom(seed: seed)
    }

    /// What a new account buys; nil for one that looks on.
    mutating func firstDeed(of account: String) -> Deed? {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<55: Deed(account: account, command: "buy", body: Self.premium)
        case ..<82: Deed(account: account, command: "buy", body: Self.basic)
        case ..<90: Deed(account: account, command: "buy", body: Self.lifetime)
        default: nil
        }
    }

    /// Whether it is a new customer's turn.
    mutating func wantsNewAccount() -> Bool { Int.random(in: 0..<100, using: &random) < 12 }

    mutating func pick(_ accounts: [String]) -> String? { accounts.randomElement(using: &random) }

    /// What `account` does in the state that it is in; nil when it lets things be.
    mutating func deed(of account: String, in state: KnownState, at now: Timestamp) -> Deed? {
        let chance = Int.random(in: 0..<100, using: &random)
        func deed(_ command: String, _ body: String = "{}") -> Deed {
            Deed(account: account, command: command, body: body)
        }
        guard let purchase = state.purchases.last else { return firstDeed(of: account) }
        switch purchase.state {
        case .expired, .revoked:
            if failing.remove(account) != nil { return deed("payment", #"{"fails":false}"#) }
            guard purchase.product != "demo.lifetime" else { return nil }
            return chance < 70 ? deed("buy", chance < 45 ? Self.premium : Self.basic) : nil
        case .gracePeriod, .billingRetry:
            guard chance < 60 else { return nil }
            failing.remove(account)
            return deed("payment", #"{"fails":false}"#)
        case .canceled: return chance < 40 ? deed("resume") : nil
        case .active:
            guard let until = purchase.until else { return chance < 5 ? deed("refund") : nil }
            if purchase.product == "demo.basic.monthly", chance < 35 {
                // A period charged early does not begin with the upgrade: see ARCHITECTURE, "What is known and left".
                let left = (until - now) / month
                return left > 0.4 && left < 0.95 ? deed("change", Self.premium) : nil
            }
            switch chance {
            case ..<55: return deed("cancel")
            case ..<70: return deed("refund")
            case ..<85:
                failing.insert(account)
                return deed("payment", #"{"fails":true,"grace":true}"#)
            default:
                failing.insert(account)
                return deed("payment", #"{"fails":true,"grace":false}"#)
            }
        }
    }
}
