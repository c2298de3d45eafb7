package import Time

/// Something that happened in the store, in the order it happened.
package struct StoreEvent: Sendable {
    package let time: Timestamp
    package let account: String?
    /// For people: `SUBSCRIBED/INITIAL_BUY`, or what was done without Apple telling anybody.
    package let name: String
    package let notification: StoreNotification?

    init(time: Timestamp, account: String?, name: String) {
        self.time = time
        self.account = account
        self.name = name
        notification = nil
    }

    init(account: String?, _ notification: StoreNotification) {
        time = notification.signedDate
        self.account = account
        name = notification.name
        self.notification = notification
    }
}

/// What Apple notifies of, before it is signed: a copy of the facts at that moment.
package struct StoreNotification: Sendable, Hashable {
    /// Which object the notification carries; only `data` has a transaction, a renewal and a status.
    package enum Body: Sendable, Hashable {
        case data
        case summary(ExtensionSummary)
        case externalPurchaseToken(ExternalPurchaseToken)
        case appData(AppTransaction)
        /// The seat claims that Apple ended.
        case unclaimInfo(originalTransactionID: String, [String])
        /// An object that nobody knows yet, by its name.
        case unknown(String)
    }

    /// The same through every try to send it.
    package let uuid: String
    package let type: String
    package let subtype: String?
    package let signedDate: Timestamp
    package let transaction: StoreTransaction?
    package let renewal: StoreRenewal?
    package let consumptionRequestReason: String?
    package internal(set) var body = Body.data
    /// Whose news it is when there is no transaction.
    var owner: String?

    package var name: String { subtype.map { "\(type)/\($0)" } ?? type }
    package var account: String? { transaction?.account ?? owner }
    /// Apple's `status` of the subscription.
    package var status: Int64? { renewal?.subscription.status }
}
