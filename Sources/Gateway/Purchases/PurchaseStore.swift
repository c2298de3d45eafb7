package import AppStore
package import CacheTier
package import Entitlements
package import Time

/// What the gateway asks of the store about what backends post.
package protocol PurchaseStore: Sendable {
    /// Whether it is worth asking at all.
    var isReachable: Bool { get }

    /// Takes in what Apple signed, then decides the claim and, if it is accepted, takes that in too. Idempotent.
    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision

    /// The same decision, and nothing written.
    func foresee(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> ClaimDecision
}

/// Verifies what was posted, all of it or nothing; the consumer does it again.
package typealias PurchaseJudge =
    @Sendable (_ posted: PostedPurchases, _ app: AppID, _ environment: StoreEnvironment?, _ now: Timestamp)
    async throws(PurchaseFailure) -> VerifiedPurchases

extension PurchaseVerifier {
    /// Judges for the apps of `identities`; asks about revoked certificates when there is somebody to ask.
    package func judge(
        _ identities: [AppID: AppIdentity], revocation: RevocationChecker? = nil
    ) -> PurchaseJudge {
        { posted, app, environment, now throws(PurchaseFailure) in
            // Routes ask for apps of the settings only.
            let identity = identities[app] ?? AppIdentity(bundleID: "", appAppleID: nil)
            let purchases = try verify(posted, for: identity, app: app, environment: environment, now: now)
            try await revocation?.check(purchases)
            return purchases
        }
    }
}
