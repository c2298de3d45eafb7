package import AppStore
package import Broker
package import Entitlements
package import Time

/// What a message of posted purchases says: what Apple signed, verified again, and what was decided.
package struct DecodedPurchases: Sendable {
    package let app: AppID
    package let message: PurchaseMessage
    package let purchases: VerifiedPurchases

    /// What a replay folds: everything that Apple signed, with the claims that were accepted. One that the message leaves
    /// undecided is decided in another message.
    package var observations: [Observation] { purchases.lineages.flatMap { observations(of: $0) } + claimsAlone }

    /// Claims of lineages of which nothing was posted.
    var claimsAlone: [Observation] {
        let posted = Set(purchases.lineages.map(\.id.originalTransactionID))
        return message.decisions.compactMap { decision in
            guard let claim = decision.claim, !posted.contains(decision.originalTransactionID) else { return nil }
            let lineage = LineageID(
                app: app, environment: message.environment, originalTransactionID: decision.originalTransactionID)
            return Observation(lineage: lineage, source: .device, signedDate: claim.claimedAt, claim: claim)
        }
    }

    func observations(of lineage: VerifiedPurchases.Lineage) -> [Observation] {
        var observations = lineage.observations
        observations[0].claim = message[lineage.id.originalTransactionID]?.claim
        return observations
    }
}

extension MessageDecoder {
    /// The same for a message whose header `kind` says that it is of posted purchases.
    package func decodePurchases(
        _ message: BrokerMessage, now: Timestamp
    ) async throws(MessageRefusal) -> DecodedPurchases {
        let (name, app) = try app(of: message)
        let posted: PurchaseMessage
        do throws(PurchaseMessage.Unreadable) { posted = try PurchaseMessage(decoding: message.body) } catch {
            throw .unreadable("posted purchases: \(error)")
        }
        // One that lies ahead would win against all that come after it.
        let latest = now + VerificationLimits().signedAhead
        guard posted.receivedAt <= latest,
            posted.decisions.allSatisfy({ $0.claim.map { $0.claimedAt <= latest } ?? true })
        else { throw .unreadable("posted purchases: received or claimed at a time that has not come yet") }
        do throws(PurchaseFailure) {
            let purchases = try PurchaseVerifier(verifier.verifier).verify(
                posted.posted, for: app.identity, app: name, environment: posted.environment, now: now)
            try await revocation?.check(purchases)
            return DecodedPurchases(app: name, message: posted, purchases: purchases)
        } catch { throw .purchase(error) }
    }
}
