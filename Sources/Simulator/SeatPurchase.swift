internal import JSON

/// The seats that one multiseat purchase paid for.
package struct SeatPurchase: Sendable, Hashable {
    /// Who lets members in.
    package enum Invitation: String, Sendable, CaseIterable {
        case apple = "APPLE"
        case developer = "DEVELOPER"
    }

    package var quantity: Int64
    package var invitation: Invitation
    /// Of these seats, so many are refunded.
    package var revoked: Int64 = 0

    /// One tier: every seat costs the average that the transaction's `price` says.
    func write(to json: inout JSONWriter, price: Int64) {
        json.object("multiSeatInfo") { json in
            json.array("priceTiers", [price]) { json, price in
                json.beginObject()
                json.member("price", price)
                json.member("quantity", quantity)
                json.endObject()
            }
            if revoked > 0 { json.member("revokedSeatQuantity", revoked) }
        }
        json.member("invitationManagement", invitation.rawValue)
    }
}

/// Who sits on a multiseat subscription's seats.
struct SeatClaims: Sendable, Hashable {
    struct Claim: Sendable, Hashable {
        let id: String
        let requestIdentifier: String
        var appTransactionID: String?
    }

    /// The seats of the next period.
    var renewalQuantity: Int64
    let invitation: SeatPurchase.Invitation
    let groupID: String
    /// In the order they were made.
    var claims: [Claim] = []
}
