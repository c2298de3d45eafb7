/// What one account does, or what is done to it. `subscription` is an original transaction id or a product id, and
/// `transaction` a transaction id or a product id; nil takes the only, or the newest, there is.
package enum StoreCommand: Sendable, Hashable {
    case buy(
        _ productID: String, offer: String? = nil, quantity: Int64 = 1, seats: SeatPurchase? = nil,
        outsideApp: Bool = false)
    case cancel(subscription: String? = nil)
    case resume(subscription: String? = nil)
    case change(subscription: String? = nil, to: String)
    case payment(fails: Bool, grace: Bool? = nil)
    case refund(transaction: String? = nil, reason: Int64 = 0)
    case reverseRefund(transaction: String? = nil)
    case requestRefund(transaction: String? = nil, reason: String = "UNINTENDED_PURCHASE")
    case declineRefund(transaction: String? = nil)
    case share(subscription: String? = nil, with: String)
    case revoke(subscription: String? = nil)
    case raisePrice(subscription: String? = nil, to: Int64)
    case consent(subscription: String? = nil)
    case extend(subscription: String? = nil, days: Int64)
    case changeSeats(subscription: String? = nil, to: Int64)
    case refundSeats(subscription: String? = nil, count: Int64)
    case unclaimSeats(subscription: String? = nil, count: Int64? = nil)
    case rescindConsent
    case appTransaction(exists: Bool)
    /// Sends a notification of any type, about a transaction of the account; nothing changes in the store. With
    /// `object` its news stands in a top-level object of that name in place of `data`.
    case notify(type: String, subtype: String? = nil, transaction: String? = nil, object: String? = nil)
}

extension StoreCommand {
    /// By the control API's name, with its JSON body.
    init(_ name: String, _ body: inout ControlBody) throws(ControlProblem) {
        switch name {
        case "buy":
            self = .buy(
                try body.required("productId"), offer: try body.string("offerId"),
                quantity: Int64(try body.integer("quantity", in: 1...10) ?? 1), seats: try Self.seats(&body),
                outsideApp: try body.bool("outsideApp") ?? false)
        case "cancel": self = .cancel(subscription: try body.string("subscription"))
        case "resume": self = .resume(subscription: try body.string("subscription"))
        case "change":
            self = .change(subscription: try body.string("subscription"), to: try body.required("productId"))
        case "payment":
            guard let fails = try body.bool("fails") else { throw ControlProblem(field: "fails", "fails is missing") }
            self = .payment(fails: fails, grace: try body.bool("grace"))
        case "refund":
            self = .refund(
                transaction: try body.string("transactionId"),
                reason: Int64(try body.integer("reason", in: 0...1) ?? 0))
        case "reverse-refund": self = .reverseRefund(transaction: try body.string("transactionId"))
        case "request-refund":
            self = .requestRefund(
                transaction: try body.string("transactionId"),
                reason: try body.string("reason") ?? "UNINTENDED_PURCHASE")
        case "decline-refund": self = .declineRefund(transaction: try body.string("transactionId"))
        case "share": self = .share(subscription: try body.string("subscription"), with: try body.required("with"))
        case "revoke": self = .revoke(subscription: try body.string("subscription"))
        case "raise-price":
            guard let price = try body.integer("price", in: 1...1_000_000_000) else {
                throw ControlProblem(field: "price", "price is missing (milliunits)")
            }
            self = .raisePrice(subscription: try body.string("subscription"), to: Int64(price))
        case "consent": self = .consent(subscription: try body.string("subscription"))
        case "extend":
            guard let days = try body.integer("days", in: 1...90) else {
                throw ControlProblem(field: "days", "days is missing")
            }
            self = .extend(subscription: try body.string("subscription"), days: Int64(days))
        case "change-seats":
            guard let quantity = try body.integer("quantity", in: 1...10_000) else {
                throw ControlProblem(field: "quantity", "quantity is missing")
            }
            self = .changeSeats(subscription: try body.string("subscription"), to: Int64(quantity))
        case "refund-seats":
            guard let count = try body.integer("count", in: 1...10_000) else {
                throw ControlProblem(field: "count", "count is missing")
            }
            self = .refundSeats(subscription: try body.string("subscription"), count: Int64(count))
        case "unclaim-seats":
            self = .unclaimSeats(
                subscription: try body.string("subscription"),
                count: try body.integer("count", in: 1...10_000).map { Int64($0) })
        case "rescind-consent": self = .rescindConsent
        case "app-transaction":
            guard let exists = try body.bool("exists") else {
                throw ControlProblem(field: "exists", "exists is missing")
            }
            self = .appTransaction(exists: exists)
        case "notify":
            self = .notify(
                type: try body.required("type"), subtype: try body.string("subtype"),
                transaction: try body.string("transactionId"), object: try body.string("object"))
        default:
            let names = Self.names.joined(separator: ", ")
            throw ControlProblem(status: 404, code: "unknown-command", field: "path", "no \(name); there are \(names)")
        }
    }

    static let names = [
        "buy", "cancel", "resume", "change", "payment", "refund", "reverse-refund", "request-refund", "decline-refund",
        "share", "revoke", "raise-price", "consent", "extend", "change-seats", "refund-seats", "unclaim-seats",
        "rescind-consent", "app-transaction", "notify",
    ]

    private static func seats(_ body: inout ControlBody) throws(ControlProblem) -> SeatPurchase? {
        let quantity = try body.integer("seats", in: 2...10_000)
        let name = try body.string("invitationManagement")
        guard let quantity else {
            guard name == nil else { throw ControlProblem(field: "invitationManagement", "goes with seats only") }
            return nil
        }
        guard let invitation = SeatPurchase.Invitation(rawValue: name ?? "DEVELOPER") else {
            throw ControlProblem(field: "invitationManagement", "APPLE or DEVELOPER")
        }
        return SeatPurchase(quantity: Int64(quantity), invitation: invitation)
    }
}
