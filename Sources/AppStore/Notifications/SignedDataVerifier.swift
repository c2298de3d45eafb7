package import Entitlements
package import Time

/// Verifies what came by itself rather than in a notification: from a device, or in an answer of the App Store Server
/// API.
package struct SignedDataVerifier: Sendable {
    package let verifier: JWSVerifier

    package init(_ verifier: JWSVerifier) { self.verifier = verifier }

    /// A payload that is this app's, and the environment it is from.
    package struct Accepted<Payload: SignedPayload>: Sendable {
        package let verified: Verified<Payload>
        package let environment: StoreEnvironment

        package var payload: Payload { verified.payload }
    }

    /// Verifies one payload of any kind: signature, chain, date, whose it is, and that nothing decisive is damaged.
    ///
    /// Renewal information names no app, so that for it only the environment is checked: whoever applies it needs a
    /// transaction beside it. `answerFor` is the bundle id that an answer of Apple's names around it: it vouches for old
    /// transactions that name none.
    package func verify<Payload: SignedPayload>(
        _ jws: ArraySlice<UInt8>, as kind: Payload.Type, for identity: AppIdentity, answerFor bundleID: String? = nil,
        now: Timestamp, environments: Set<StoreEnvironment> = Set(StoreEnvironment.allCases)
    ) throws(VerificationFailure) -> Accepted<Payload> {
        let verified = try verifier.verify(jws, as: kind, now: now)
        var origin = verified.payload.origin
        if Payload.kind == .transaction, origin.bundleID == nil { origin.bundleID = bundleID }
        if let mistake = identity.mistakes(in: origin, of: Payload.kind, environments: environments).first {
            throw mistake
        }
        try verified.refuseDamage()
        guard let environment = StoreEnvironment(origin.environment) else {
            throw VerificationFailure(.wrongEnvironment, Payload.kind.part, "no environment is named")
        }
        return Accepted(verified: verified, environment: environment)
    }

    /// A transaction and, where there is one, the renewal information beside it, as news about a lineage.
    ///
    /// `status` is Apple's, from an answer that was not signed itself but came over Apple's TLS; it counts as of the
    /// newest of the signed parts.
    package func observation(
        transaction: ArraySlice<UInt8>, renewalInfo: ArraySlice<UInt8>? = nil, status: Int64? = nil, app: AppID,
        identity: AppIdentity, source: Observation.Source, answerFor bundleID: String? = nil, now: Timestamp
    ) throws(VerificationFailure) -> Observation {
        try news(
            transaction: transaction, renewalInfo: renewalInfo, status: status, app: app, identity: identity,
            source: source, answerFor: bundleID, now: now
        ).observation
    }

    /// The same with who signed each part, from one of `environments`.
    func news(
        transaction: ArraySlice<UInt8>, renewalInfo: ArraySlice<UInt8>?, status: Int64?, app: AppID,
        identity: AppIdentity, source: Observation.Source, answerFor bundleID: String?, now: Timestamp,
        environments: Set<StoreEnvironment> = Set(StoreEnvironment.allCases)
    ) throws(VerificationFailure) -> SignedNews {
        let accepted = try verify(
            transaction, as: TransactionPayload.self, for: identity, answerFor: bundleID, now: now,
            environments: environments)
        let fact = try accepted.verified.fact()
        var parts = [SignedPart(chain: accepted.verified.chain, signedAt: fact.signedDate, part: .transaction)]
        var signedDate = fact.signedDate
        var renewal: RenewalFact?
        if let renewalInfo {
            let beside = try verify(renewalInfo, as: RenewalInfoPayload.self, for: identity, now: now)
            let other = try beside.verified.fact()
            if let failure = NotificationVerifier.disagreement(
                renewalInfo: other.originalTransactionID, transaction: fact.originalTransactionID)
            {
                throw failure
            }
            guard beside.environment == accepted.environment else {
                throw VerificationFailure(
                    .disagreement, .renewalInfo,
                    "its environment is \(beside.environment.appleName), the transaction's beside it "
                        + accepted.environment.appleName)
            }
            parts.append(SignedPart(chain: beside.verified.chain, signedAt: other.signedDate, part: .renewalInfo))
            signedDate = max(signedDate, other.signedDate)
            renewal = other
        }
        let observation = Observation(
            lineage: LineageID(
                app: app, environment: accepted.environment, originalTransactionID: fact.originalTransactionID),
            source: source, signedDate: signedDate, transaction: fact, renewal: renewal,
            status: status.map { StatusFact(status: $0, signedDate: signedDate) })
        return SignedNews(observation: observation, parts: parts)
    }
}

/// News about a lineage, and by whose certificates its parts were signed.
struct SignedNews: Sendable {
    let observation: Observation
    let parts: [SignedPart]
}

struct SignedPart: Sendable {
    let chain: VerifiedChain
    let signedAt: Timestamp
    let part: VerificationFailure.Part
}
