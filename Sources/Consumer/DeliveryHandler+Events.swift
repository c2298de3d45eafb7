import AppStore
import Broker
import CacheTier
import Entitlements
import Runtime

/// Telling others, on the exchange `events`.
///
/// Every notification leads to its event at least once: its message is acknowledged only after the broker has confirmed the
/// event, so whoever dies in between leaves the message to another try, and every try tells again under the same id. It does
/// not matter whether the record changed: a notification that comes late, or whose facts were known from elsewhere, is
/// news to others all the same.
///
/// The one limit: a queue that somebody bound and that refuses what it has no room for (`x-overflow: reject-publish`) must not
/// hold up notifications. What it refuses is tried again `eventRetries` times, then logged, counted and given up.
extension DeliveryHandler {
    /// After 1 s, 5 s and 30 s.
    static let eventRetries = 3

    /// What a notification leads to; nil when others are not to be told.
    func event(
        of decoded: DecodedMessage, _ change: AppliedChange?
    ) async throws(StoreError) -> OutboundEvent? {
        let (app, notification) = (decoded.app, decoded.notification)
        if !NotificationTable.row(of: notification.payload).isDocumented { metrics.undocumented() }
        guard settings.publishEvents, let rules = decoder.apps[app] else { return nil }
        let event = OutboundEvent(notification, app: app, rules: rules, change: change, at: clock.now())
        guard let refundRequests, let transaction = event.transactionID else { return event }
        switch event.name {
        case .refundConsumptionRequested:
            let isFirst = try await refundRequests.isFirst(
                event.id, about: transaction, app: app, environment: notification.environment)
            return isFirst ? event : nil
        case .refundGranted, .refundDeclined:
            try await refundRequests.close(about: transaction, app: app, environment: notification.environment)
            return event
        default: return event
        }
    }

    /// Returns once the broker has confirmed all of it, with what it did not take.
    func tell(_ events: [EventMessage], _ log: Log) async -> [EventFailure] {
        guard settings.publishEvents else { return [] }
        return await withTaskGroup { group in
            for event in events { group.addTask { await publish(event, log) } }
            return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
        }
    }

    private func publish(_ event: EventMessage, _ log: Log) async -> EventFailure? {
        do {
            try await publisher.publish(
                event.message, to: names.events, routingKey: event.routingKey, mandatory: false)
            metrics.event(event.name, "published")
            return nil
        } catch {
            log.warning("an event was not taken", ["event-name": .init(event.name.rawValue), "error": .init(error)])
            metrics.event(event.name, "failed")
            return EventFailure(name: event.name, error: error)
        }
    }

    /// The ledger still has the notification, and Redis' change feed what changed.
    func giveUp(_ failures: [EventFailure], _ event: OutboundEvent?, _ log: Log) async {
        let names = failures.map(\.name)
        for name in names { metrics.event(name, "lost") }
        log.error(
            "events were given up: a queue that is bound to the exchange refuses them",
            ["events": .init(names.map(\.rawValue).joined(separator: " "))])
        // Apple's next repeat of a request that nobody heard of must count as the first.
        guard let event, names.contains(.refundConsumptionRequested), let transaction = event.transactionID else {
            return
        }
        do {
            try await refundRequests?.close(
                about: transaction, app: event.app, environment: event.notification.environment)
        } catch {
            log.error("a request for consumption data stays marked as told", ["error": .init(error)])
        }
    }
}

/// An event that the broker did not take.
struct EventFailure: Sendable {
    let name: EventName
    let error: BrokerError
}

extension BrokerDelivery {
    /// Whether somebody had it in hand before.
    var isAnotherTry: Bool { isRedelivered || deliveryCount > 0 || message.attempts > 0 }
}
