package import Time

/// The simulated App Store: accounts, what they bought and what happens to it by itself.
///
/// Pure: time is an argument, chance comes from the seed, and what happened is returned, never sent. The same calls at
/// the same times lead to the same ids, dates and notifications. Call `advance(to:)` before anything else at a time,
/// so that what fell due before it has happened.
package struct Store: Sendable {
    package struct Account: Sendable, Hashable {
        /// The `appAccountToken` of its purchases: a UUID, lower case.
        package let token: String
        let appTransactionID: String
        /// When the app was bought, as its app transaction says.
        let createdAt: Timestamp
        /// Whether Apple knows of an app transaction; it does of nearly everybody's.
        var hasAppTransaction = true
        package var paymentFails = false
        /// Whether a failed renewal is followed by a grace period; nil leaves it to the catalog.
        package var hasGracePeriod: Bool?
        /// By group.
        package var subscriptionIDs: [String: String] = [:]
        package var oneTimeIDs: [String] = []
    }

    package let settings: StoreSettings
    package let catalog: Catalog
    let storefront: Storefront
    package private(set) var now: Timestamp
    /// In the order they came.
    package private(set) var accountTokens: [String] = []
    package internal(set) var accounts: [String: Account] = [:]
    package internal(set) var subscriptions: [String: StoreSubscription] = [:]
    package internal(set) var transactions = TransactionTable()
    /// By app transaction id.
    private(set) var appTransactionOwners: [String: String] = [:]
    /// What the developer asked for, by product and request identifier.
    var massExtensions: [MassExtension.Key: MassExtension] = [:]
    /// What the developer said of purchases that somebody wants money back for, by transaction.
    var consumption: [String: [ConsumptionReport]] = [:]
    /// The multiseat subscription of each group.
    var groupSubscriptions: [String: String] = [:]
    var identifiers: StoreIdentifiers
    var random: StoreRandom
    private var agenda = Agenda<Due>()
    private var lastSigned: [String: Timestamp] = [:]

    package init(settings: StoreSettings, catalog: Catalog, at now: Timestamp) {
        self.settings = settings
        self.catalog = catalog
        self.now = now
        storefront = Storefront(code: catalog.storefront)
        identifiers = StoreIdentifiers(environment: settings.environment, seed: settings.seed)
        random = StoreRandom(seed: settings.seed)
    }

    // MARK: Accounts

    /// Opens an account, by the given `appAccountToken` or a new one.
    package mutating func createAccount(
        token: String? = nil, at now: Timestamp
    ) throws(StoreError) -> (token: String, events: [StoreEvent]) {
        let token = token?.lowercased() ?? random.uuid()
        guard Self.isUUID(token) else { throw StoreError(.invalidAccount, "account", "an account is a UUID") }
        guard accounts[token] == nil else { throw StoreError(.accountExists, "account", "\(token) exists already") }
        let account = Account(token: token, appTransactionID: identifiers.nextAppTransaction(), createdAt: now)
        accounts[token] = account
        appTransactionOwners[account.appTransactionID] = token
        accountTokens.append(token)
        return (token, [StoreEvent(time: now, account: token, name: "account created")])
    }

    package func account(_ token: String) throws(StoreError) -> Account {
        guard let account = accounts[token.lowercased()] else {
            throw StoreError(.unknownAccount, "account", "there is no account \(token)")
        }
        return account
    }

    static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) } }
    }

    package func product(_ id: String) throws(StoreError) -> StoreProduct {
        guard let product = catalog.products[id] else {
            let known = catalog.productIDs.joined(separator: ", ")
            throw StoreError(.unknownProduct, "productId", "there is no product \(id); there are \(known)")
        }
        return product
    }

    /// The subscription that `reference` names, by original transaction id or product id; without one, the account's
    /// only live one, or else its only one.
    package func subscriptionID(of token: String, _ reference: String? = nil) throws(StoreError) -> String {
        let account = try account(token)
        let own = account.subscriptionIDs.values.compactMap { subscriptions[$0] }
        if let reference {
            guard let found = own.first(where: { $0.originalID == reference || $0.productID == reference }) else {
                throw StoreError(.notSubscribed, "subscription", "\(token) has no subscription \(reference)")
            }
            return found.originalID
        }
        let live = own.filter(\.isLive)
        let candidates = live.isEmpty ? own : live
        guard let only = candidates.first else {
            throw StoreError(.notSubscribed, "account", "\(token) has no subscription")
        }
        guard candidates.count == 1 else {
            throw StoreError(.notSubscribed, "subscription", "\(token) has several: say which, by product id")
        }
        return only.originalID
    }

    /// Every transaction of an account, oldest purchase first.
    package func transactions(of token: String) -> [StoreTransaction] {
        guard let account = accounts[token] else { return [] }
        let ids =
            account.oneTimeIDs + account.subscriptionIDs.values.flatMap { subscriptions[$0]?.transactionIDs ?? [] }
        return ids.compactMap { transactions[$0] }.sorted { ($0.purchaseDate, $0.id) < ($1.purchaseDate, $1.id) }
    }

    // MARK: Time

    /// What falls due by itself.
    private enum Due: Sendable {
        case subscription(String)
        case massExtension(MassExtension.Key)
    }

    /// When something next happens by itself.
    package var nextDue: Timestamp? { agenda.nextDue }

    /// Lets everything happen that falls due by `time`, each at its own moment.
    package mutating func advance(to time: Timestamp) -> [StoreEvent] {
        var events: [StoreEvent] = []
        while let (item, due) = agenda.take(by: time) {
            switch item {
            case .subscription(let id):
                // An entry that no longer holds was superseded by a later one.
                guard let subscription = subscriptions[id], dueDate(of: subscription) == due else { continue }
                events += fallDue(subscription, at: due)
            case .massExtension(let key): events += carryOut(key, at: due)
            }
        }
        now = max(now, time)
        return events
    }

    /// Enters when `id` next needs looking at; after every change of its subscription.
    mutating func schedule(_ id: String) {
        guard let subscription = subscriptions[id], let due = dueDate(of: subscription) else { return }
        agenda.add(.subscription(id), due: due)
    }

    mutating func schedule(_ key: MassExtension.Key, due: Timestamp) { agenda.add(.massExtension(key), due: due) }

    // MARK: Notifications

    /// What Apple tells of `transaction`, signed at `time` or just after what was signed last of its lineage: facts of
    /// one key never carry the same date.
    mutating func notify(
        _ type: String, _ subtype: String? = nil, _ transaction: StoreTransaction, at time: Timestamp,
        consumptionRequestReason: String? = nil
    ) -> StoreEvent {
        let last = lastSigned[transaction.originalID].map { $0 + .milliseconds(1) } ?? time
        let signedDate = max(time, last)
        lastSigned[transaction.originalID] = signedDate
        return StoreEvent(
            account: transaction.account,
            StoreNotification(
                uuid: random.uuid(), type: type, subtype: subtype, signedDate: signedDate, transaction: transaction,
                renewal: renewal(of: transaction.originalID), consumptionRequestReason: consumptionRequestReason))
    }

    /// What Apple tells that is about no transaction.
    mutating func announce(
        _ type: String, _ subtype: String? = nil, _ body: StoreNotification.Body, of account: String? = nil,
        at time: Timestamp
    ) -> StoreEvent {
        StoreEvent(
            account: account,
            StoreNotification(
                uuid: random.uuid(), type: type, subtype: subtype, signedDate: time, transaction: nil, renewal: nil,
                consumptionRequestReason: nil, body: body, owner: account))
    }

    /// The notification that Apple sends on request, to see whether one arrives.
    package mutating func testNotification(at time: Timestamp) -> StoreEvent {
        announce("TEST", nil, .data, at: time)
    }

    /// What would be signed now of a subscription's future; nil for what is none.
    package func renewal(of originalID: String) -> StoreRenewal? {
        guard let subscription = subscriptions[originalID], let account = accounts[subscription.account],
            let product = catalog.products[subscription.nextProductID]
        else { return nil }
        let offer = subscription.offer
        var price = offer?.offer.price ?? product.price
        if case .accepted(let raised) = subscription.priceIncrease { price = raised }
        if case .pending(let raised) = subscription.priceIncrease { price = raised }
        return StoreRenewal(
            subscription: subscription, renewalDate: newest(of: subscription)?.expiresDate, price: price,
            offer: offer?.offer, accountToken: subscription.accountToken,
            appTransactionID: account.appTransactionID)
    }

    /// The transaction bought last, begun or not.
    package func newest(of subscription: StoreSubscription) -> StoreTransaction? {
        subscription.transactionIDs.last.flatMap { transactions[$0] }
    }
}
