package import Entitlements

/// Which call of the App Store Server API settles what is known of a lineage: any transaction of the lineage will do.
package struct StatusQuestion: Sendable, Hashable {
    package enum Call: String, Sendable, Hashable, CaseIterable {
        /// Get All Subscription Statuses. It answers with every subscription that the same Apple account has in the app.
        case statuses
        /// Get Transaction Info, for what does not renew by itself.
        case transaction
    }

    package let lineage: LineageID
    package let call: Call
    /// What Apple is asked about.
    package let transactionID: String

    package init(lineage: LineageID, call: Call, transactionID: String) {
        self.lineage = lineage
        self.call = call
        self.transactionID = transactionID
    }

    /// The newest transaction is asked about: of a subscription any would do, and of purchases that do not renew it is the
    /// one that counts. Without one, what has a renewal or a status is a subscription, whose id is a transaction's too.
    package init(about record: LineageRecord) {
        let newest = record.transactions.last
        let renews: Bool
        switch newest?.kind {
        case .autoRenewable: renews = true
        case .nonRenewing, .lifetime, .consumable: renews = false
        case .unknown: renews = record.renewal != nil || record.status != nil
        case nil: renews = true
        }
        self.init(
            lineage: record.lineage, call: renews ? .statuses : .transaction,
            transactionID: newest?.transactionID ?? record.lineage.originalTransactionID)
    }
}
