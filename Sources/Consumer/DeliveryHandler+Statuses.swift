import AppStore
import Broker
import CacheTier
import Entitlements
import Runtime
import Time

/// Applying what Apple answered when somebody asked: a refresh, a recovery, a check that was due.
///
/// Apple's word on a lineage that nothing signs, `status`, is believed because the message came by our own exchange, or
/// back from our own retry queues by the default one.
extension DeliveryHandler {
    func outcome(ofStatuses delivery: BrokerDelivery) async -> Outcome {
        guard delivery.exchange == names.intake || delivery.exchange.isEmpty else {
            return .quarantine(
                QuarantineReason(
                    code: "foreignAnswer",
                    sentence: "Apple's answers count only from \(names.intake), and this came by another exchange."))
        }
        let began = ContinuousClock.now
        let decoded: DecodedStatuses
        do { decoded = try await decoder.decodeStatuses(delivery.message, now: clock.now()) } catch {
            return Outcome(error)
        }
        do throws(StoreError) {
            var applied = AppliedStatuses(decoded: decoded)
            for observation in decoded.observations {
                let change = try await store.apply(observation, cause: .answer, at: decoded.message.answeredAt)
                applied.lineages.append(.init(observation: observation, change: change))
                await noteDrift(decoded, observation, change)
                if let product = observation.transaction?.productID, decoder.apps[decoded.app]?.map[product] == nil {
                    metrics.unmapped(decoded.app.rawValue)
                    await noteUnmapped(product, observation.lineage)
                }
            }
            metrics.applied(in: .now - began, sinceIntake: delay(of: delivery.message))
            return .statuses(applied)
        } catch { return Outcome(error) }
    }

    func settle(_ applied: AppliedStatuses, _ delivery: BrokerDelivery, _ log: Log) async -> Result {
        let rules = decoder.apps[applied.decoded.app]
        for lineage in applied.lineages {
            let log = log.with(lineage.change.logFields(of: lineage.observation))
            log.info(lineage.change.changed ? "applied" : "known already", applied.logFields(of: lineage))
            for entry in lineage.change.entries where entry.isUnexpected {
                log.with(entry.logFields).warning(
                    "news in between is missing or late, or the table of transitions is wrong",
                    applied.logFields(of: lineage))
                metrics.unexpected(entry)
            }
        }
        if applied.lineages.isEmpty { log.info("Apple's answer says nothing", applied.logFields()) }
        let failures = await tell(applied.events(of: delivery, rules: rules, at: clock.now()), log)
        if let failure = failures.first {
            if delivery.message.eventAttempts < Self.eventRetries {
                return await sendToRetry(delivery.message, .events, "\(failure.name.rawValue): \(failure.error)", log)
            }
            await giveUp(failures, nil, log)
        }
        metrics.answered(applied.decoded.message.purpose)
        metrics.settled(applied.label)
        return Result(settlement: .acknowledge)
    }
}

/// What became of one of Apple's answers.
struct AppliedStatuses: Sendable {
    struct Lineage: Sendable {
        let observation: Observation
        let change: AppliedChange

        /// Whether it means something else than before, or is somebody else's. What Apple signs anew in every answer makes
        /// the record another one each time, and is no news by that alone.
        func isNews(under rules: ConsumerApp?, at instant: Timestamp) -> Bool {
            guard change.changed else { return false }
            guard change.entries.isEmpty, change.gained.isEmpty, change.lost.isEmpty, let before = change.before,
                let rules
            else { return true }
            let map = rules.map
            return before.evaluated(at: instant, map: map, policy: rules.policy)
                != change.after.evaluated(at: instant, map: map, policy: rules.policy)
        }
    }

    let decoded: DecodedStatuses
    var lineages: [Lineage] = []

    var label: String {
        if lineages.isEmpty { return "noted" }
        return lineages.contains(where: \.change.changed) ? "applied" : "unchanged"
    }

    /// The line that each of Apple's answers leaves: about which lineage, why it was asked, and how long it took.
    func logFields(of lineage: Lineage? = nil) -> Log.Fields {
        let message = decoded.message
        let id = lineage?.observation.lineage ?? message.question.lineage
        return [
            "environment": .init(id.environment.rawValue), "lineage": .init(id.originalTransactionID),
            "status": .init(lineage?.observation.status.map { "\($0.status)" } ?? ""),
            "purpose": .init(message.purpose.rawValue), "askedAt": .init(message.askedAt.rfc3339),
            "milliseconds": .init(Int64((message.took / .milliseconds(1)).rounded())),
        ]
    }

    /// What others are told. A message that somebody had in hand before may have been told of already, or not: so again.
    func events(of delivery: BrokerDelivery, rules: ConsumerApp?, at instant: Timestamp) -> [EventMessage] {
        lineages.filter { delivery.isAnotherTry || $0.isNews(under: rules, at: instant) }.flatMap { lineage in
            let id = "\(decoded.message.id):\(lineage.observation.lineage.originalTransactionID)"
            let changed = ChangeEvent(change: lineage.change, observation: lineage.observation, id: id, at: instant)
            return [changed.message(cause: delivery.message)]
                + TransferEvent.all(of: lineage.change, by: lineage.observation, at: instant)
                .map { $0.message(cause: delivery.message) }
        }
    }
}
