import AppStore
import Broker
import CacheTier
import Entitlements
import Runtime
import Time

/// Applying what backends posted. The gateway has done it already, unless Redis was away then; doing it again changes
/// nothing.
///
/// The queue is no proof, so what Apple signed is verified again here. Who claimed it is nobody's signature but our own
/// word: it is believed because it came by our own exchange, or back from our own retry queues by the default one. Whoever
/// may publish there could claim in another's name, and still only what Apple signed for this app.
extension DeliveryHandler {
    func outcome(ofPurchases delivery: BrokerDelivery) async -> Outcome {
        guard delivery.exchange == names.intake || delivery.exchange.isEmpty else {
            return .quarantine(
                QuarantineReason(
                    code: "foreignClaim",
                    sentence: "Purchases count only from \(names.intake), and these came by another exchange."))
        }
        let began = ContinuousClock.now
        let decoded: DecodedPurchases
        do { decoded = try await decoder.decodePurchases(delivery.message, now: clock.now()) } catch {
            return Outcome(error)
        }
        do throws(StoreError) {
            let applied = try await apply(decoded)
            metrics.applied(in: .now - began, sinceIntake: delay(of: delivery.message))
            let products = decoded.purchases.lineages.flatMap(\.observations).compactMap(\.transaction?.productID)
            if let map = decoder.apps[decoded.app]?.map, products.contains(where: { map[$0] == nil }) {
                metrics.unmapped(decoded.app.rawValue)
            }
            return .purchases(applied)
        } catch { return Outcome(error) }
    }

    private func apply(_ decoded: DecodedPurchases) async throws(StoreError) -> AppliedPurchases {
        let message = decoded.message
        var applied = AppliedPurchases(message: message)
        for lineage in decoded.purchases.lineages {
            guard let decision = message[lineage.id.originalTransactionID] else {
                let decided = try await store.takeIn(
                    lineage, for: message.customer, at: message.receivedAt, isForced: message.isForced)
                metrics.claimed(decided.decision)
                var decision = decided.message(about: lineage.id)
                // The gateway may have taken in a part before it gave up: to be told once too often does no harm.
                decision.changed = true
                applied.decided.append(decision)
                continue
            }
            let observations = decoded.observations(of: lineage)
            var change: AppliedChange?
            for observation in observations {
                let next = try await store.apply(observation, cause: .answer, at: message.receivedAt)
                change = change.map { $0.followed(by: next) } ?? next
            }
            guard let change else { continue }
            applied.lineages.append(.init(observation: observations[0], change: change, decision: decision))
        }
        for observation in decoded.claimsAlone {
            guard let decision = message[observation.lineage.originalTransactionID] else { continue }
            let change = try await store.apply(observation, cause: .answer, at: message.receivedAt)
            applied.lineages.append(.init(observation: observation, change: change, decision: decision))
        }
        return applied
    }

    /// What was decided here is published as the gateway publishes what it decides, before the message is settled: so the
    /// ledger has it, and others are told of it when it comes back, as they are of what a gateway decided.
    func settle(_ applied: AppliedPurchases, _ delivery: BrokerDelivery, _ log: Log) async -> Result {
        let message = delivery.message
        guard applied.decided.isEmpty else {
            var decided = applied.message
            decided.decisions += applied.decided
            var copy = message
            copy.body = decided.encoded()
            copy.messageID = decided.id
            for header in [MessageHeader.attempt, MessageHeader.eventAttempt] { copy.headers[header] = nil }
            do {
                try await publisher.publish(copy, to: names.intake, routingKey: "", mandatory: true)
            } catch {
                return await sendToRetry(message, .decision, "what was decided is not published: \(error)", log)
            }
            log.info("claims decided", ["decisions": .init(applied.summary)])
            metrics.settled("decided")
            return Result(settlement: .acknowledge)
        }
        log.info(applied.isNews ? "applied" : "known already", ["decisions": .init(applied.summary)])
        let failures = await tell(applied.events(of: delivery, at: clock.now()), log)
        if let failure = failures.first {
            if message.eventAttempts < Self.eventRetries {
                return await sendToRetry(message, .events, "\(failure.name.rawValue): \(failure.error)", log)
            }
            await giveUp(failures, nil, log)
        }
        metrics.settled(applied.isNews ? "applied" : "unchanged")
        return Result(settlement: .acknowledge)
    }
}
