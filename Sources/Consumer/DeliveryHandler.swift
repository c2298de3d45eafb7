package import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Runtime
import Time

/// Takes one delivery through all its stages: verify again, decode, apply, tell, settle.
///
/// Verified again because the queue is no proof: between intake and here anybody with access to the broker can put a
/// message in (invariant 6). Revocation is asked for here and not at intake, whose answer to Apple must not wait for a
/// responder.
package struct DeliveryHandler: Sendable {
    let decoder: MessageDecoder
    let store: any ObservationStore
    /// Nil when every request for consumption data is one of its own.
    let refundRequests: (any RefundRequestMemory)?
    let publisher: any MessagePublisher
    let names: BrokerNames
    let settings: ConsumerSettings
    let metrics: ConsumerMetrics
    let clock: WallClock
    let log: Log
    /// Where products that the map does not know are kept by name; nil keeps none.
    package var unmapped: UnmappedProducts?
    /// Where it is remembered which notifications were settled; nil remembers none.
    package var seen: SeenNotifications?
    /// Where it is noted what Apple answered and no notification had told; nil notes nothing.
    package var drift: DriftNotebook?
    /// Where it is noted when notifications come; nil notes nothing.
    package var arrivals: ArrivalNotes?

    package init(
        apps: [AppID: ConsumerApp], verifier: NotificationVerifier, revocation: RevocationChecker? = nil,
        store: any ObservationStore, refundRequests: (any RefundRequestMemory)? = nil,
        publisher: any MessagePublisher, names: BrokerNames,
        settings: ConsumerSettings = ConsumerSettings(), metrics: Metrics, clock: WallClock = .system, log: Log
    ) {
        decoder = MessageDecoder(apps: apps, verifier: verifier, revocation: revocation)
        self.store = store
        self.refundRequests = refundRequests
        self.publisher = publisher
        self.names = names
        self.settings = settings
        self.metrics = ConsumerMetrics(metrics)
        self.clock = clock
        self.log = log
    }

    /// How a delivery is settled, and whether intake had better rest.
    package struct Result: Sendable {
        package var settlement: Settlement
        /// Redis or the broker did not do its part: going on at once would only fail again.
        package var isTroubled = false
    }

    package func handle(_ delivery: BrokerDelivery) async -> Result {
        let message = delivery.message
        let log = log.with([
            "correlation": .init(message.headers[MessageHeader.correlation] ?? ""),
            "app": .init(message.headers[MessageHeader.app] ?? ""),
            "notification": .init(message.messageID ?? ""),
        ])
        var warnings = NotificationWarnings()
        let outcome = await outcome(of: delivery, &warnings)
        return await settle(delivery, outcome, warnings.isEmpty ? log : log.with(["warnings": .init(warnings.text)]))
    }

    // MARK: What became of it

    private func outcome(of delivery: BrokerDelivery, _ warnings: inout NotificationWarnings) async -> Outcome {
        switch delivery.message.headers[MessageHeader.kind] {
        case nil: await outcome(ofNotification: delivery.message, &warnings)
        case PurchaseMessage.kind: await outcome(ofPurchases: delivery)
        case StatusMessage.kind: await outcome(ofStatuses: delivery)
        case let kind?:
            .quarantine(
                QuarantineReason(code: "unknownKind", sentence: "This version knows no messages of the kind \(kind)."))
        }
    }

    private func outcome(
        ofNotification message: BrokerMessage, _ warnings: inout NotificationWarnings
    ) async -> Outcome {
        let began = ContinuousClock.now
        let decoded: DecodedMessage
        do { decoded = try await decoder.decode(message, now: clock.now()) } catch { return Outcome(error) }
        warnings = NotificationWarnings(decoded.notification)
        metrics.warned(warnings)
        guard let observation = decoded.observation else {
            do {
                let event = try await event(of: decoded, nil)
                await remember(decoded.notification.payload.notificationUUID, message, decoded.notification.environment)
                return .noted(type: decoded.notification.payload.notificationType, event)
            } catch { return Outcome(error) }
        }
        do {
            let change = try await store.apply(observation, cause: decoded.cause, at: clock.now())
            metrics.applied(in: .now - began, sinceIntake: delay(of: message))
            if let product = observation.transaction?.productID, decoder.apps[decoded.app]?.map[product] == nil {
                metrics.unmapped(decoded.app.rawValue)
                await noteUnmapped(product, observation.lineage)
            }
            let event = try await event(of: decoded, change)
            await remember(observation.notificationUUID, message, decoded.notification.environment)
            return change.changed ? .applied(change, observation, event) : .unchanged(change, observation, event)
        } catch { return Outcome(error) }
    }

    /// Best effort: the record has it, and is found when a map is published.
    func noteUnmapped(_ product: String, _ lineage: LineageID) async {
        do throws(StoreError) {
            try await unmapped?.note(product, of: lineage.app, in: lineage.environment, at: clock.now())
        } catch {
            log.warning(
                "a product that the map does not know was not noted",
                ["app": .init(lineage.app), "product": .init(product), "error": .init(error)])
        }
    }

    /// Takes what it needs to say since when notifications are remembered, too.
    func prepare() async throws(StoreError) {
        try await store.prepare()
        for app in decoder.apps.keys {
            for environment in StoreEnvironment.allCases { try await seen?.begin(app, environment) }
        }
    }

    /// Best effort: what is forgotten comes once more when the notification history is read, and changes nothing.
    func remember(_ uuid: String?, _ message: BrokerMessage, _ environment: StoreEnvironment?) async {
        guard let environment, let app = message.headers[MessageHeader.app] else { return }
        await noteArrival(of: message, AppID(app), environment)
        guard let uuid else { return }
        do throws(StoreError) { try await seen?.note(uuid, of: AppID(app), in: environment) } catch {
            log.warning("a settled notification was not noted", ["app": .init(app), "error": .init(error)])
        }
    }

    private func noteArrival(of message: BrokerMessage, _ app: AppID, _ environment: StoreEnvironment) async {
        guard decoder.apps[app] != nil else { return }
        do throws(StoreError) { try await arrivals?.note(message, of: app, in: environment) } catch {
            log.warning("the arrival of a notification was not noted", ["app": .init(app), "error": .init(error)])
        }
    }

    /// From intake to now, for a message that has not been waiting in a retry level.
    func delay(of message: BrokerMessage) -> Duration? {
        guard message.attempts == 0, let text = message.headers[MessageHeader.receivedAt] else { return nil }
        return Timestamp(rfc3339: text).map { max(.zero, clock.now() - $0) }
    }

    // MARK: How it is settled

    private func settle(_ delivery: BrokerDelivery, _ outcome: Outcome, _ log: Log) async -> Result {
        let message = delivery.message
        var event: OutboundEvent?
        var changed: ChangeEvent?
        var transfers: [TransferEvent] = []
        switch outcome {
        case .applied(let change, let observation, let itsEvent):
            log.with(change.logFields(of: observation)).info("applied", observation.logFields)
            for entry in change.entries where entry.isUnexpected {
                log.with(entry.logFields).warning(
                    "news in between is missing or late, or the table of transitions is wrong", observation.logFields)
                metrics.unexpected(entry)
            }
            changed = ChangeEvent(change: change, observation: observation, at: clock.now())
            transfers = TransferEvent.all(of: change, by: observation, at: clock.now())
            event = itsEvent
        case .unchanged(let change, let observation, let itsEvent):
            log.info("known already", observation.logFields)
            // Whoever wrote it may have failed before telling anybody.
            if delivery.isAnotherTry {
                changed = ChangeEvent(change: change, observation: observation, at: clock.now())
            }
            event = itsEvent
        case .noted(let type, let itsEvent):
            log.info("noted", ["type": .init(type?.raw ?? "")])
            metrics.noted(type)
            event = itsEvent
        case .purchases(let applied): return await settle(applied, delivery, log)
        case .statuses(let applied): return await settle(applied, delivery, log)
        case .retry(let cause, let detail): return await sendToRetry(message, cause, detail, log)
        case .quarantine(let reason): return await sendToQuarantine(message, reason, log)
        }
        let events = [changed?.message(cause: message), event?.message(cause: message)].compactMap(\.self)
        let failures = await tell(events + transfers.map { $0.message(cause: message) }, log)
        if let failure = failures.first {
            if message.eventAttempts < Self.eventRetries {
                return await sendToRetry(message, .events, "\(failure.name.rawValue): \(failure.error)", log)
            }
            await giveUp(failures, event, log)
        }
        metrics.settled(outcome.label)
        return Result(settlement: .acknowledge)
    }

    private func sendToQuarantine(_ message: BrokerMessage, _ reason: QuarantineReason, _ log: Log) async -> Result {
        var copy = message
        copy.headers[MessageHeader.reason] = reason.code
        copy.headers[MessageHeader.reasonDetail] = reason.sentence
        copy.headers[MessageHeader.quarantinedAt] = clock.now().rfc3339
        do {
            try await publisher.publish(copy, to: "", routingKey: names.quarantine, mandatory: true)
        } catch {
            return await sendToRetry(message, .quarantine, "\(reason.code); quarantine takes nothing: \(error)", log)
        }
        if message.headers[MessageHeader.kind] == nil {
            let environment = message.headers[MessageHeader.environment].flatMap(StoreEnvironment.init(rawValue:))
            await remember(message.messageID, message, environment)
        }
        log.warning("quarantined", ["reason": .init(reason.code), "detail": .init(reason.sentence)])
        metrics.quarantined(reason.code)
        metrics.settled("quarantined")
        return Result(settlement: .acknowledge)
    }

    func sendToRetry(
        _ message: BrokerMessage, _ cause: RetryCause, _ detail: String, _ log: Log
    ) async -> Result {
        let attempts = message.attempts + 1
        let level = RetryLevel.after(attempts: attempts)
        var copy = message
        copy.headers[MessageHeader.attempt] = "\(attempts)"
        if cause == .events { copy.headers[MessageHeader.eventAttempt] = "\(message.eventAttempts + 1)" }
        do {
            try await publisher.publish(copy, to: "", routingKey: names.retry(level), mandatory: true)
        } catch {
            log.error(
                "requeued: neither applied nor sent to retry",
                [
                    "cause": .init(cause.rawValue), "detail": .init(detail), "error": .init(error),
                ])
            metrics.settled("requeued")
            return Result(settlement: .requeue, isTroubled: true)
        }
        log.warning(
            "to be tried again",
            [
                "cause": .init(cause.rawValue), "detail": .init(detail), "attempt": .init(attempts),
                "level": .init(level.name),
            ])
        metrics.retry(cause)
        metrics.settled("retry")
        return Result(settlement: .acknowledge, isTroubled: cause == .store)
    }
}

extension BrokerMessage {
    /// How often applying it has failed; what is no number counts as none.
    var attempts: Int { count(MessageHeader.attempt) }
    /// How often its events could not be published.
    var eventAttempts: Int { count(MessageHeader.eventAttempt) }

    private func count(_ header: String) -> Int {
        headers[header].flatMap { Int($0) }.map { min(max($0, 0), 1_000_000) } ?? 0
    }
}

extension Observation {
    fileprivate var logFields: Log.Fields {
        [
            "environment": .init(lineage.environment.rawValue), "lineage": .init(lineage.originalTransactionID),
            "type": .init(notificationType ?? ""), "subtype": .init(subtype ?? ""),
        ]
    }
}
