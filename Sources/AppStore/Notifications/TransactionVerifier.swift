package import Entitlements
package import Time

/// Verifies transactions and renewal information that came by themselves: from a device, or in an answer of the App
/// Store Server API.
package struct TransactionVerifier: Sendable {
    package let verifier: JWSVerifier

    package init(_ verifier: JWSVerifier) { self.verifier = verifier }

    /// A transaction and, where there is one, the renewal information beside it, as news about a lineage.
    ///
    /// `status` is Apple's, from an answer that was not signed itself but came over Apple's TLS; it counts as of the
    /// newest of the signed parts.
    package func observation(
        transaction: ArraySlice<UInt8>, renewalInfo: ArraySlice<UInt8>? = nil, status: Int64? = nil,
        app: AppID, identity: AppIdentity, source: Observation.Source, now: Timestamp
    ) throws(VerificationFailure) -> Observation {
        let verified = try verifier.verify(transaction, as: TransactionPayload.self, now: now)
        try identity.checkBundle(verified.payload.bundleID, part: .transaction)
        let environment = try identity.environment(verified.payload.environment, part: .transaction)
        let fact = try verified.fact()
        var signedDate = fact.signedDate
        var renewal: RenewalFact?
        if let renewalInfo {
            let verified = try verifier.verify(renewalInfo, as: RenewalInfoPayload.self, now: now)
            let other = try verified.fact()
            guard try identity.environment(verified.payload.environment, part: .renewalInfo) == environment,
                other.originalTransactionID == fact.originalTransactionID
            else {
                throw VerificationFailure(
                    .disagreement, .renewalInfo, "it is about another subscription than the transaction beside it")
            }
            signedDate = max(signedDate, other.signedDate)
            renewal = other
        }
        let lineage = LineageID(
            app: app, environment: environment, originalTransactionID: fact.originalTransactionID)
        return Observation(
            lineage: lineage, source: source, signedDate: signedDate, transaction: fact, renewal: renewal,
            status: status.map { StatusFact(status: $0, signedDate: signedDate) })
    }
}
