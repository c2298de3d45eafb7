internal import AppStore
package import CacheTier
package import Entitlements
internal import Time

/// The store as the gateway uses it beside the cache: to decide what is posted, and to tell support of single lineages.
package struct GatewayStore: Sendable {
    package var purchases: any PurchaseStore
    package var archive: any LineageArchive
    package var rules: [AppID: StoreRules]

    package init(purchases: any PurchaseStore, archive: any LineageArchive, rules: [AppID: StoreRules]) {
        self.purchases = purchases
        self.archive = archive
        self.rules = rules
    }

    /// `isReachable` says whether the store's Redis is connected right now.
    package init(_ store: LineageStore, rules: [AppID: StoreRules], isReachable: @escaping @Sendable () -> Bool) {
        self.init(
            purchases: ReachableStore(store: store, isConnected: isReachable), archive: store, rules: rules)
    }
}

private struct ReachableStore: PurchaseStore {
    let store: LineageStore
    let isConnected: @Sendable () -> Bool

    var isReachable: Bool { isConnected() }

    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        try await store.takeIn(lineage, for: customer, at: instant, isForced: isForced)
    }

    func foresee(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> ClaimDecision {
        try await store.foresee(lineage, for: customer, at: instant, isForced: isForced)
    }
}
