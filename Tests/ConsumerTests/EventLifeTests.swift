import AppStore
import Entitlements
import TestSupport
import Testing
import Time

@testable import Broker
@testable import Consumer
@testable import Simulator

/// What others hear of whole lives.
@Suite("Events of lives", .timeLimit(.minutes(6))) struct EventLifeTests {
    /// Lets the store live, and delivers what it tells.
    private func live(_ stage: EventStage, _ acts: [(day: Int, StoreCommand)], to last: Int) async throws
        -> [StoreNotification]
    {
        var events: [StoreEvent] = []
        func day(_ number: Int) -> Timestamp { EventStage.start + .seconds(Int64(number) * 86_400) }
        for (number, command) in acts {
            events += stage.store.advance(to: day(number))
            events += try stage.store.perform(command, for: EventStage.account, at: day(number))
        }
        events += stage.store.advance(to: day(last))
        let notifications = events.compactMap(\.notification)
        for notification in notifications { try await stage.deliver(notification) }
        return notifications
    }

    @Test func aLifeIsToldEventByEvent() async throws {
        let stage = try EventStage(now: EventStage.start + .seconds(400 * 86_400))
        let notifications = try await live(
            stage,
            [
                (0, .buy("basic.monthly")), (1, .change(to: "pro.monthly")), (2, .change(to: "basic.monthly")),
                (3, .change(to: "pro.monthly")), (4, .cancel()), (5, .resume()), (6, .raisePrice(to: 19_990)),
                (7, .consent()), (20, .payment(fails: true, grace: true)), (40, .payment(fails: false)),
                (42, .requestRefund()), (43, .declineRefund()), (45, .refund(reason: 1)), (46, .reverseRefund()),
                (120, .buy("pro.monthly")), (121, .buy("lifetime")),
            ], to: 125)
        let told = stage.told.filter { $0 != "entitlement.changed" }
        #expect(
            told == [
                "subscription.started", "product.upgraded", "product.downgradeScheduled", "product.changeCanceled",
                "renewal.turnedOff", "renewal.turnedOn", "priceIncrease.pending", "priceIncrease.accepted",
                "billing.graceStarted", "subscription.recovered", "refund.consumptionRequested", "refund.declined",
                "refund.granted", "refund.reversed", "subscription.expired",
                "subscription.resubscribed", "purchase.oneTime",
            ])
        #expect(told.count == notifications.count)
    }

    @Test("Whatever the simulated App Store sends has its row, and carries the facts that the row says")
    func whatTheSimulatorSendsIsAsTheTableSays() async throws {
        let stage = try EventStage(now: EventStage.start + .seconds(400 * 86_400))
        let notifications = try await live(
            stage,
            [
                (0, .buy("pro.monthly")), (1, .cancel()), (2, .resume()), (3, .raisePrice(to: 19_990)), (4, .consent()),
                (5, .extend(days: 3)), (20, .payment(fails: true, grace: false)), (40, .payment(fails: false)),
                (45, .requestRefund()), (46, .refund()), (47, .reverseRefund()), (48, .rescindConsent),
                (120, .buy("lifetime")),
            ], to: 125)
        func presence(_ isThere: Bool, _ row: NotificationRow.Presence) -> Bool {
            switch row {
            case .required: isThere
            case .optional: true
            case .none: !isThere
            }
        }
        for notification in notifications {
            let row = NotificationTable.row(type: notification.type, subtype: notification.subtype)
            #expect(row.isDocumented, "\(notification.name)")
            #expect(presence(notification.transaction != nil, row.transaction), "\(notification.name)")
            #expect(presence(notification.renewal != nil, row.renewal), "\(notification.name)")
            #expect(presence(notification.status != nil, row.status), "\(notification.name)")
        }
        check(!stage.told.contains("notification.unknown"))
    }
}
