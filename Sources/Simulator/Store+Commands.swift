package import Time

extension Store {
    package mutating func perform(
        _ command: StoreCommand, for token: String, at time: Timestamp
    ) throws(StoreError) -> [StoreEvent] {
        switch command {
        case .buy(let productID, let offer, let quantity, let seats, let outsideApp):
            return try buy(
                productID, by: token, offer: offer, quantity: quantity, seats: seats, outsideApp: outsideApp, at: time)
        case .cancel(let reference):
            return try setRenewal(false, of: subscriptionID(of: token, reference), at: time)
        case .resume(let reference):
            return try setRenewal(true, of: subscriptionID(of: token, reference), at: time)
        case .change(let reference, let productID):
            return try change(subscriptionID(of: token, reference), to: productID, at: time)
        case .payment(let fails, let grace):
            return try setPayment(of: token, fails: fails, grace: grace, at: time)
        case .refund(let reference, let reason):
            return try refund(refundable(of: token, reference, at: time), reason: reason, at: time)
        case .reverseRefund(let reference):
            return try reverseRefund(refunded(of: token, reference), at: time)
        case .requestRefund(let reference, let reason):
            return try requestRefund(refundable(of: token, reference, at: time), reason: reason, at: time)
        case .declineRefund(let reference):
            return try declineRefund(refundable(of: token, reference, at: time), at: time)
        case .share(let reference, let member):
            return try share(subscriptionID(of: token, reference), with: member, at: time)
        case .revoke(let reference): return try revoke(subscriptionID(of: token, reference), at: time)
        case .raisePrice(let reference, let price):
            return try raisePrice(of: subscriptionID(of: token, reference), to: price, at: time)
        case .consent(let reference): return try consentToPrice(of: subscriptionID(of: token, reference), at: time)
        case .extend(let reference, let days):
            return try extend(subscriptionID(of: token, reference), days: days, at: time)
        case .changeSeats(let reference, let quantity):
            return try changeSeats(of: subscriptionID(of: token, reference), to: quantity, at: time)
        case .refundSeats(let reference, let count):
            return try refundSeats(of: subscriptionID(of: token, reference), count: count, at: time)
        case .unclaimSeats(let reference, let count):
            return try unclaimSeats(of: subscriptionID(of: token, reference), count: count, at: time)
        case .rescindConsent: return try rescindConsent(of: token, at: time)
        case .appTransaction(let exists):
            accounts[try account(token).token]?.hasAppTransaction = exists
            return []
        case .notify(let type, let subtype, let reference, let object):
            return try notifyAnything(type, subtype, about: reference, of: token, object: object, at: time)
        }
    }

    /// The transaction that `reference` names, or the account's newest refunded one.
    private func refunded(of token: String, _ reference: String?) throws(StoreError) -> String {
        let refunded = transactions(of: try account(token).token).filter { $0.revocation?.kind == .refund }
        guard let found = refunded.last(where: { reference == nil || $0.id == reference || $0.product.id == reference })
        else {
            throw StoreError(.unknownTransaction, "transactionId", "\(token) has no refunded transaction of that name")
        }
        return found.id
    }
}
