package import Time

/// Multiseat subscriptions, as thin as can be: how many seats are paid for, and who has claimed one.
extension Store {
    static let placeholderGroup = "900000000000000000"
    static let placeholderMember = "700000000000000000"

    mutating func newSeats(_ purchase: SeatPurchase) -> SeatClaims {
        SeatClaims(
            renewalQuantity: purchase.quantity, invitation: purchase.invitation,
            groupID: identifiers.nextAppTransaction())
    }

    // MARK: The purchaser

    /// More seats are a purchase of their own in the same period; fewer come with the next one. While the renewal cannot
    /// be charged there is no period to add to, and nothing to pay with.
    package mutating func changeSeats(
        of id: String, to quantity: Int64, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard let seats = subscription.seats, let present = newest(of: subscription) else { throw Self.hasNoSeats }
        guard !subscription.isFailingToPay else {
            throw StoreError(.billingProblem, "account", "mend the payment first")
        }
        guard quantity != seats.renewalQuantity else {
            throw StoreError(.notEligible, "quantity", "there are \(quantity) seats already")
        }
        subscriptions[id]?.seats?.renewalQuantity = quantity
        let more = quantity - totalSeats(of: subscription, at: time)
        guard more > 0 else {
            let subtype = quantity > seats.renewalQuantity ? "INCREASE_QUANTITY" : "DECREASE_QUANTITY"
            return [notify("DID_CHANGE_RENEWAL_PREF", subtype, present, at: time)]
        }
        let transactionID = identifiers.nextTransaction()
        var added = StoreTransaction(
            id: transactionID, originalID: id, lineItemID: identifiers.nextLineItem(), account: present.account,
            accountToken: subscription.accountToken, appTransactionID: present.appTransactionID,
            product: present.product, purchaseDate: time, originalPurchaseDate: present.originalPurchaseDate,
            expiresDate: present.expiresDate, quantity: more, ownership: .purchased, reason: .purchase,
            price: present.price, offer: nil)
        added.seats = SeatPurchase(quantity: more, invitation: seats.invitation)
        transactions[transactionID] = added
        subscriptions[id]?.transactionIDs.append(transactionID)
        schedule(id)
        return [notify("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY", added, at: time)]
    }

    /// Refunds some seats of the newest purchase; the rest, and the access, stay.
    package mutating func refundSeats(
        of id: String, count: Int64, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard var transaction = newest(of: subscription), var seats = transaction.seats else { throw Self.hasNoSeats }
        guard count < seats.quantity - seats.revoked else {
            throw StoreError(.notEligible, "count", "fewer than all: refund the transaction instead")
        }
        seats.revoked += count
        transaction.seats = seats
        transactions[transaction.id] = transaction
        return [notify("REFUND", "SEATS", transaction, at: time)]
    }

    /// Apple ends the newest `count` claims, or all, and says so.
    package mutating func unclaimSeats(
        of id: String, count: Int64? = nil, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        guard let subscription = subscriptions[id], let seats = subscription.seats else { throw Self.hasNoSeats }
        let ended = seats.claims.suffix(count.map { Int(clamping: $0) } ?? seats.claims.count).map(\.id)
        guard !ended.isEmpty else { throw StoreError(.notEligible, "subscription", "no seat is claimed") }
        subscriptions[id]?.seats?.claims.removeAll { ended.contains($0.id) }
        return [
            announce(
                "UNCLAIM_SEATS", nil, .unclaimInfo(originalTransactionID: id, ended), of: subscription.account, at: time
            )
        ]
    }

    private static let hasNoSeats = StoreError(.notEligible, "subscription", "it was not bought with seats")

    // MARK: The Server API

    struct SeatInfo: Sendable, Hashable {
        let total: Int64
        let claims: [String]
        var available: Int64 { max(0, total - Int64(claims.count)) }
    }

    func seatInfo(_ transactionID: String, at time: Timestamp) throws(APIError) -> SeatInfo {
        let (subscription, seats) = try multiseat(transactionID)
        return SeatInfo(total: totalSeats(of: subscription, at: time), claims: seats.claims.map(\.id))
    }

    /// Claims a seat; the same request again gets the same claim.
    mutating func claimSeat(
        _ transactionID: String, requestIdentifier: String, for appTransactionID: String?, at time: Timestamp
    ) throws(APIError) -> String {
        let (subscription, seats) = try multiseat(transactionID)
        let identifier = requestIdentifier.lowercased()
        guard Self.isUUID(identifier) else { throw .invalidRequestIdentifier }
        if let made = seats.claims.first(where: { $0.requestIdentifier == identifier }) { return made.id }
        if let appTransactionID, appTransactionOwners[appTransactionID] == nil { throw .appTransactionNotFound }
        guard Int64(seats.claims.count) < totalSeats(of: subscription, at: time) else { throw .noAvailableSeats }
        let claim = SeatClaims.Claim(
            id: random.uuid(), requestIdentifier: identifier, appTransactionID: appTransactionID)
        subscriptions[subscription.originalID]?.seats?.claims.append(claim)
        return claim.id
    }

    mutating func unclaimSeat(_ transactionID: String, _ claimID: String) throws(APIError) {
        let (subscription, index) = try claim(claimID, of: transactionID)
        subscriptions[subscription.originalID]?.seats?.claims.remove(at: index)
    }

    mutating func associateSeat(
        _ transactionID: String, _ claimID: String, with appTransactionID: String
    ) throws(APIError) {
        let (subscription, index) = try claim(claimID, of: transactionID)
        guard appTransactionOwners[appTransactionID] != nil else { throw .appTransactionNotFound }
        subscriptions[subscription.originalID]?.seats?.claims[index].appTransactionID = appTransactionID
    }

    /// The groups of whom the customer pays for, or sits in.
    func groups(of account: Account) -> [String] {
        groupSubscriptions.filter { _, id in
            guard let subscription = subscriptions[id] else { return false }
            return subscription.account == account.token
                || subscription.seats?.claims.contains { $0.appTransactionID == account.appTransactionID } ?? false
        }.keys.sorted()
    }

    /// App transaction ids of a group's members, the purchaser's first.
    func members(ofGroup group: String) throws(APIError) -> [String] {
        guard Self.isIdentifier(group) else { throw .invalidGroupID }
        if group == Self.placeholderGroup { return [Self.placeholderMember] }
        guard let subscription = groupSubscriptions[group].flatMap({ subscriptions[$0] }),
            let purchaser = accounts[subscription.account]
        else { throw .groupNotFound }
        return [purchaser.appTransactionID] + (subscription.seats?.claims.compactMap(\.appTransactionID) ?? [])
    }

    /// The seats of all purchases of the present period.
    private func totalSeats(of subscription: StoreSubscription, at time: Timestamp) -> Int64 {
        subscription.transactionIDs.compactMap { transactions[$0] }
            .filter { $0.purchaseDate <= time && $0.revocation == nil && ($0.expiresDate.map { time < $0 } ?? false) }
            .reduce(0) { $0 + ($1.seats.map { $0.quantity - $0.revoked } ?? 0) }
    }

    private func multiseat(_ id: String) throws(APIError) -> (StoreSubscription, SeatClaims) {
        let transaction = try transaction(id)
        guard let subscription = subscriptions[transaction.originalID], let seats = subscription.seats,
            seats.invitation == .developer
        else { throw .badRequest }
        return (subscription, seats)
    }

    private func claim(_ id: String, of transactionID: String) throws(APIError) -> (StoreSubscription, Int) {
        let (subscription, seats) = try multiseat(transactionID)
        guard let index = seats.claims.firstIndex(where: { $0.id == id.lowercased() }) else {
            throw .seatClaimNotFound
        }
        return (subscription, index)
    }
}
