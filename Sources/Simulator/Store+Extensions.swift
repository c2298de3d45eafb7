package import Time

/// Renewal dates put off, as an apology would.
extension Store {
    /// Gives the customer `days` more (compressed like all else).
    package mutating func extend(_ id: String, days: Int64, at time: Timestamp) throws(StoreError) -> [StoreEvent] {
        let subscription = try live(id)
        guard Self.extensionDays.contains(days) else { throw StoreError(.notEligible, "days", "1 to 90") }
        guard subscription.phase == .active else {
            throw StoreError(.notEligible, "subscription", "only an active subscription is extended")
        }
        return putOff(id, days: days, at: time)
    }

    /// Extend a Subscription Renewal Date. Every request extends, also one that repeats a request identifier: Apple
    /// does not say that it would not.
    mutating func extend(
        originalID id: String, _ request: ExtensionRequest, at time: Timestamp
    ) throws(APIError) -> (transaction: StoreTransaction, events: [StoreEvent]) {
        guard Self.isIdentifier(id) else { throw .invalidOriginalTransactionID }
        guard let subscription = subscriptions[id] else {
            throw transactions[id] == nil || transactions[id]?.originalID != id
                ? .originalTransactionNotFound : .extensionIneligible
        }
        if let refusal = refusal(ofExtending: subscription, at: time) { throw refusal }
        subscriptions[id]?.extendedAt.append(time)
        let events = putOff(id, days: request.days, at: time)
        guard let transaction = subscriptions[id].flatMap({ newest(of: $0) }) else { throw .internalError }
        return (transaction, events)
    }

    static let extensionDays: ClosedRange<Int64> = 1...90
    private static let extensionsAYear = 2

    /// Why Apple would not extend it, if so.
    private func refusal(ofExtending subscription: StoreSubscription, at time: Timestamp) -> APIError? {
        guard subscription.ownership == .purchased else { return .familyExtensionIneligible }
        let begun = subscription.transactionIDs.last { transactions[$0].map { $0.purchaseDate <= time } ?? false }
        guard subscription.phase == .active, begun.flatMap({ transactions[$0] })?.offer?.mode != .freeTrial else {
            return .extensionIneligible
        }
        let yearAgo = time - settings.compressed(.seconds(365 * 86_400))
        return subscription.extendedAt.count { $0 > yearAgo } < Self.extensionsAYear ? nil : .maximumExtension
    }

    private mutating func putOff(_ id: String, days: Int64, at time: Timestamp) -> [StoreEvent] {
        var events: [StoreEvent] = []
        for id in family(of: id) {
            guard var transaction = subscriptions[id].flatMap({ newest(of: $0) }), let expires = transaction.expiresDate
            else { continue }
            transaction.expiresDate = expires + settings.compressed(.seconds(days * 86_400))
            transactions[transaction.id] = transaction
            schedule(id)
            events.append(notify("RENEWAL_EXTENDED", nil, transaction, at: time))
        }
        return events
    }

    // MARK: Everybody at once

    /// How long Apple takes over a mass extension here.
    private static let massExtensionTime: Duration = .seconds(600)
    private static let maximumMassExtensions = 10_000

    /// Extend Subscription Renewal Dates for All Active Subscribers: begins it. The same request again is the same.
    mutating func beginMassExtension(_ mass: MassExtension, at time: Timestamp) throws(APIError) {
        guard catalog.products[mass.key.productID]?.group != nil else { throw .invalidProductID }
        guard massExtensions[mass.key] == nil else { return }
        guard massExtensions.count < Self.maximumMassExtensions else { throw .internalError }
        massExtensions[mass.key] = mass
        schedule(mass.key, due: time + settings.compressed(Self.massExtensionTime))
    }

    func massExtension(_ key: MassExtension.Key) throws(APIError) -> MassExtension {
        guard catalog.products[key.productID]?.group != nil else { throw .invalidProductID }
        guard Self.isUUID(key.requestIdentifier) else { throw .invalidRequestIdentifier }
        guard let found = massExtensions[key] else { throw .statusRequestNotFound }
        return found
    }

    /// Extends everybody who is active, tells of each how it went, and sums up.
    mutating func carryOut(_ key: MassExtension.Key, at time: Timestamp) -> [StoreEvent] {
        guard var mass = massExtensions[key], mass.completedAt == nil else { return [] }
        var events: [StoreEvent] = []
        for token in isMeant(by: mass) ? accountTokens : [] {
            let ids = (accounts[token]?.subscriptionIDs.values.sorted() ?? []).filter { id in
                subscriptions[id].map { $0.productID == key.productID && $0.ownership == .purchased } ?? false
            }
            for id in ids {
                guard let subscription = subscriptions[id], subscription.phase == .active else { continue }
                if refusal(ofExtending: subscription, at: time) == nil {
                    subscriptions[id]?.extendedAt.append(time)
                    mass.succeeded += 1
                    events += putOff(id, days: mass.request.days, at: time)
                } else if let transaction = newest(of: subscription) {
                    mass.failed += 1
                    events.append(notify("RENEWAL_EXTENSION", "FAILURE", transaction, at: time))
                }
            }
        }
        mass.completedAt = time
        massExtensions[key] = mass
        let summary = ExtensionSummary(
            key: key, storefronts: mass.storefronts ?? [storefront.code], succeeded: mass.succeeded,
            failed: mass.failed)
        events.append(announce("RENEWAL_EXTENSION", "SUMMARY", .summary(summary), at: time))
        return events
    }

    /// Everybody here is in one country.
    private func isMeant(by mass: MassExtension) -> Bool { mass.storefronts?.contains(storefront.code) ?? true }
}
