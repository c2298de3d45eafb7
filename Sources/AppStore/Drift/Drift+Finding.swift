package import Entitlements
import Time

extension Drift {
    /// What `answer` says that `before` did not know, field by field; empty when it brings nothing but newer signatures.
    ///
    /// Facts that are older than ours say nothing about us: a notification was faster than the answer.
    package static func found(before: LineageRecord?, answer: Observation) -> [Difference] {
        let known = before ?? LineageRecord(lineage: answer.lineage)
        var after = known
        guard after.fold(answer) else { return [] }
        var differences: [Difference] = []
        if let fact = answer.transaction, after.transactions.contains(fact) {
            differences += found(fact, in: known)
        }
        if let renewal = answer.renewal, after.renewal == renewal, known.renewal != renewal {
            differences += found(renewal, over: known.renewal, lastHeard: known.lastSigned)
        }
        if let status = answer.status, after.status == status, let ours = known.status, ours.status != status.status {
            differences.append(
                Difference(
                    .status, ours: "\(ours.status)", apples: "\(status.status)", tellers: tellers(of: status.status),
                    since: ours.signedDate))
        }
        return differences
    }

    // MARK: Transactions

    private static func found(_ fact: TransactionFact, in known: LineageRecord) -> [Difference] {
        let versions = known.transactions.filter { $0.transactionID == fact.transactionID }
        guard let ours = versions.max(by: { $0.signedDate < $1.signedDate }) else {
            let newest = known.transactions.last
            return [
                Difference(
                    newest == nil ? .lineage : .transaction, ours: newest.map(text), apples: text(fact),
                    tellers: tellers(of: fact, after: newest), since: newest?.signedDate)
            ]
        }
        guard ours != fact else { return [] }
        var differences: [Difference] = []
        func compare(_ field: Field, _ a: String?, _ b: String?, _ tellers: [NotificationType]) {
            guard a != b else { return }
            differences.append(Difference(field, ours: a, apples: b, tellers: tellers, since: ours.signedDate))
        }
        compare(.expiresDate, ours.expiresDate?.rfc3339, fact.expiresDate?.rfc3339, [.renewalExtended])
        compare(
            .revocationDate, ours.revocationDate?.rfc3339, fact.revocationDate?.rfc3339,
            fact.revocationDate == nil
                ? [.refundReversed] : fact.ownership == "FAMILY_SHARED" ? [.revoke, .refund] : [.refund, .revoke])
        compare(
            .revokedSeatQuantity, ours.revokedSeatQuantity.map { "\($0)" }, fact.revokedSeatQuantity.map { "\($0)" },
            [.refund, .refundReversed])
        compare(
            .isUpgraded, "\(ours.isUpgraded)", "\(fact.isUpgraded)", [.didChangeRenewalPreference, .offerRedeemed])
        compare(.appAccountToken, ours.appAccountToken, fact.appAccountToken, [])
        return differences
    }

    private static func tellers(of fact: TransactionFact, after newest: TransactionFact?) -> [NotificationType] {
        guard fact.kind == .autoRenewable else { return [.oneTimeCharge] }
        if fact.transactionReason == "RENEWAL" { return [.didRenew] }
        guard let newest else { return [.subscribed, .offerRedeemed, .didRenew, .didChangeRenewalPreference] }
        if newest.productID != fact.productID, newest.expiresDate.map({ fact.purchaseDate < $0 }) ?? false {
            return [.didChangeRenewalPreference, .offerRedeemed]
        }
        return [.subscribed, .offerRedeemed, .didRenew, .didChangeRenewalPreference]
    }

    /// The id, the product and the end.
    private static func text(_ fact: TransactionFact) -> String {
        "\(fact.transactionID) \(fact.productID)" + (fact.expiresDate.map { " until \($0.rfc3339)" } ?? "")
    }

    // MARK: Renewal and status

    /// Of a lineage whose renewal information is not known, what goes without saying is no difference.
    private static func found(
        _ renewal: RenewalFact, over ours: RenewalFact?, lastHeard: Timestamp?
    ) -> [Difference] {
        var differences: [Difference] = []
        let since = ours?.signedDate ?? lastHeard
        func compare(_ field: Field, _ a: String?, _ b: String?, _ tellers: [NotificationType]) {
            guard a != b else { return }
            differences.append(Difference(field, ours: a, apples: b, tellers: tellers, since: since))
        }
        compare(
            .autoRenewStatus, "\(ours?.autoRenewStatus ?? 1)", "\(renewal.autoRenewStatus ?? 1)",
            [.didChangeRenewalStatus, .expired, .refund, .revoke, .subscribed, .offerRedeemed, .didRenew])
        if let next = renewal.autoRenewProductID, let our = ours?.autoRenewProductID {
            compare(
                .autoRenewProductId, our, next, [.didChangeRenewalPreference, .offerRedeemed, .subscribed, .didRenew])
        }
        let isRetried = renewal.isInBillingRetryPeriod ?? false
        compare(
            .isInBillingRetryPeriod, "\(ours?.isInBillingRetryPeriod ?? false)", "\(isRetried)",
            isRetried ? [.didFailToRenew] : [.didRenew, .expired, .subscribed, .offerRedeemed])
        let grace = renewal.gracePeriodExpiresDate
        compare(
            .gracePeriodExpiresDate, ours?.gracePeriodExpiresDate?.rfc3339, grace?.rfc3339,
            grace == nil ? [.didRenew, .gracePeriodExpired, .expired, .subscribed] : [.didFailToRenew])
        compare(
            .expirationIntent, ours?.expirationIntent.map { "\($0)" }, renewal.expirationIntent.map { "\($0)" },
            renewal.expirationIntent == nil
                ? [.subscribed, .didRenew, .offerRedeemed] : [.expired, .didFailToRenew, .gracePeriodExpired])
        compare(
            .priceIncreaseStatus, ours?.priceIncreaseStatus.map { "\($0)" },
            renewal.priceIncreaseStatus.map { "\($0)" }, [.priceIncrease, .didRenew, .expired])
        return differences
    }

    private static func tellers(of status: Int64) -> [NotificationType] {
        switch SubscriptionStatus(rawValue: status) {
        case .active: [.didRenew, .subscribed, .offerRedeemed, .refundReversed, .renewalExtended]
        case .expired: [.expired]
        case .billingRetry: [.didFailToRenew, .gracePeriodExpired]
        case .billingGracePeriod: [.didFailToRenew]
        case .revoked: [.refund, .revoke]
        case nil: []
        }
    }
}
