package import Entitlements
package import Time

/// What was posted, every part of it verified, sorted by lineage; only `PurchaseVerifier` makes one.
package struct VerifiedPurchases: Sendable {
    /// What was posted about one lineage.
    package struct Lineage: Sendable, Hashable {
        package let id: LineageID
        /// In the order in which they were posted.
        package internal(set) var observations: [Observation]
        /// The newest of its transactions: the one that a claim names.
        package internal(set) var transaction: TransactionFact
    }

    package let environment: StoreEnvironment
    /// In the order in which the lineages come up.
    package internal(set) var lineages: [Lineage] = []
    let signatures: [Signature]

    /// By whose certificates one part was signed, and when.
    struct Signature: Sendable {
        let chain: VerifiedChain
        let signedAt: Timestamp
        let place: PurchaseFailure.Place
    }
}

/// One of what was posted is not to be used, and therefore none of it is.
package struct PurchaseFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package struct Place: Sendable, Hashable, CustomStringConvertible {
        package let list: PostedPurchases.List
        package let index: Int
        package var description: String { "\(list.rawValue)[\(index)]" }
    }

    package let place: Place
    package let failure: VerificationFailure

    package var description: String { "\(place): \(failure)" }
}

/// Verifies what backends post: signature, chain, date, whose it is, and that all of it is of one environment.
package struct PurchaseVerifier: Sendable {
    private let verifier: SignedDataVerifier

    package init(_ verifier: JWSVerifier) { self.verifier = SignedDataVerifier(verifier) }

    /// `environment` is what the caller expects; nil takes what the first transaction says.
    package func verify(
        _ posted: PostedPurchases, for identity: AppIdentity, app: AppID, environment expected: StoreEnvironment? = nil,
        now: Timestamp
    ) throws(PurchaseFailure) -> VerifiedPurchases {
        var environment = expected
        var lineages: [VerifiedPurchases.Lineage] = []
        var places: [String: Int] = [:]
        var signatures: [VerifiedPurchases.Signature] = []
        for (index, text) in posted.signedTransactions.enumerated() {
            let place = PurchaseFailure.Place(list: .signedTransactions, index: index)
            let (fact, chain) = try part(place, text, identity, &environment, now) {
                (verified: Verified<TransactionPayload>) throws(VerificationFailure) in try verified.fact()
            }
            signatures.append(.init(chain: chain, signedAt: fact.signedDate, place: place))
            let lineage = LineageID(
                app: app, environment: environment ?? .production, originalTransactionID: fact.originalTransactionID)
            let observation = Observation(
                lineage: lineage, source: .device, signedDate: fact.signedDate, transaction: fact)
            if let known = places[fact.originalTransactionID] {
                // Some devices send the same again and again.
                guard !lineages[known].observations.contains(observation) else { continue }
                lineages[known].observations.append(observation)
                if lineages[known].transaction.purchaseDate < fact.purchaseDate { lineages[known].transaction = fact }
            } else {
                places[fact.originalTransactionID] = lineages.count
                lineages.append(.init(id: lineage, observations: [observation], transaction: fact))
            }
        }
        for (index, text) in posted.signedRenewalInfos.enumerated() {
            let place = PurchaseFailure.Place(list: .signedRenewalInfos, index: index)
            let (fact, chain) = try part(place, text, identity, &environment, now) {
                (verified: Verified<RenewalInfoPayload>) throws(VerificationFailure) in try verified.fact()
            }
            signatures.append(.init(chain: chain, signedAt: fact.signedDate, place: place))
            guard let known = places[fact.originalTransactionID] else {
                // Renewal information names no app: the transaction beside it does.
                throw PurchaseFailure(
                    place: place,
                    failure: VerificationFailure(
                        .disagreement, .renewalInfo, "no transaction of the same subscription is beside it"))
            }
            lineages[known].add(fact)
        }
        return VerifiedPurchases(
            environment: environment ?? .production, lineages: lineages, signatures: signatures)
    }

    private func part<Payload: SignedPayload, Fact>(
        _ place: PurchaseFailure.Place, _ text: String, _ identity: AppIdentity,
        _ environment: inout StoreEnvironment?, _ now: Timestamp,
        _ fact: (Verified<Payload>) throws(VerificationFailure) -> Fact
    ) throws(PurchaseFailure) -> (Fact, VerifiedChain) {
        do {
            let accepted = try verifier.verify(
                Array(text.utf8)[...], as: Payload.self, for: identity, now: now,
                environments: environment.map { [$0] } ?? Set(StoreEnvironment.allCases))
            environment = accepted.environment
            return (try fact(accepted.verified), accepted.verified.chain)
        } catch {
            throw PurchaseFailure(place: place, failure: error)
        }
    }
}

extension VerifiedPurchases.Lineage {
    /// Beside the first transaction that has none yet.
    fileprivate mutating func add(_ renewal: RenewalFact) {
        if let index = observations.firstIndex(where: { $0.renewal == nil }) {
            observations[index].renewal = renewal
            observations[index].signedDate = max(observations[index].signedDate, renewal.signedDate)
        } else {
            observations.append(
                Observation(lineage: id, source: .device, signedDate: renewal.signedDate, renewal: renewal))
        }
    }
}

extension RevocationChecker {
    /// The same of every part of what was posted.
    package func check(_ purchases: VerifiedPurchases) async throws(PurchaseFailure) {
        guard settings.mode != .off else { return }
        var passing: PurchaseFailure?
        for signature in purchases.signatures {
            let part: VerificationFailure.Part =
                signature.place.list == .signedTransactions ? .transaction : .renewalInfo
            do throws(VerificationFailure) {
                try await check(signature.chain, signedAt: signature.signedAt, part: part)
            } catch {
                let failure = PurchaseFailure(place: signature.place, failure: error)
                guard error.isRetryable else { throw failure }
                passing = passing ?? failure
            }
        }
        if let passing { throw passing }
    }
}
