import AppStore
import Entitlements
import TestSupport
import Testing

@Suite struct NotificationTableTests {
    private let rows = NotificationTable.rows

    @Test func everyTypeAndEverySubtypeThatIsKnownHasARow() {
        #expect(Set(rows.compactMap(\.type)) == Set(NotificationType.allCases))
        #expect(Set(rows.compactMap(\.subtype)) == Set(NotificationSubtype.allCases))
        check(rows.allSatisfy { $0.type != nil && $0.isDocumented })
    }

    @Test func noPairHasTwoRows() {
        var seen: Set<[String]> = []
        for row in rows {
            let pair = [row.type?.rawValue ?? "", row.subtype?.rawValue ?? ""]
            #expect(seen.insert(pair).inserted, "\(pair) is there twice")
        }
    }

    @Test func everyRowIsFoundByWhatAppleSends() {
        for row in rows {
            #expect(NotificationTable.row(type: row.type?.rawValue, subtype: row.subtype?.rawValue) == row)
        }
        #expect(NotificationTable.row(type: "REFUND", subtype: "").event == .refundGranted)
    }

    @Test func everyEventIsLedToByARowOrFollowsFromAChange() {
        let led = Set(rows.map(\.event)).union([NotificationTable.unknown.event])
        let others = Set(EventName.allCases).subtracting(led)
        #expect(
            others == [.appleHealth, .driftFound, .entitlementChanged, .reminderDue, .transferLost, .transferGained])
        #expect(!Set(rows.map(\.event)).contains(.notificationUnknown))
    }

    @Test func anEventIsPlainWordsWithADotBetween() {
        for event in EventName.allCases {
            let parts = event.rawValue.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2)
            check(
                parts.allSatisfy { part in
                    !part.isEmpty && part.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
                }, event.rawValue)
        }
    }

    @Test func everySubtypeThatIsNotATypesOwnIsUnknownAndNeedsTheTypesFacts() {
        for type in NotificationType.allCases {
            let own = rows.filter { $0.type == type }
            let others = Set(NotificationSubtype.allCases.map { Optional($0) } + [nil]).subtracting(own.map(\.subtype))
            for subtype in others {
                let row = NotificationTable.row(type: type.rawValue, subtype: subtype?.rawValue)
                #expect(row.type == type)
                #expect(!row.isDocumented)
                #expect(row.event == .notificationUnknown)
                #expect(row.cause == .other)
                #expect(row.isAboutPurchase == own.allSatisfy(\.isAboutPurchase), "\(type)")
            }
            let tomorrow = NotificationTable.row(type: type.rawValue, subtype: "TOMORROW")
            #expect(tomorrow == NotificationTable.undocumented(type))
        }
    }

    @Test(arguments: ["TOMORROW", "", "subscribed", nil])
    func aTypeThatIsNotKnownHasTheRowOfAllSuch(type: String?) {
        for subtype in ["INITIAL_BUY", "TOMORROW", nil] {
            let row = NotificationTable.row(type: type, subtype: subtype)
            #expect(row == NotificationTable.unknown)
            #expect(row.event == .notificationUnknown)
            #expect(row.cause == .other)
            #expect(!row.isAboutPurchase)
        }
    }

    @Test func whatIsNotInDataIsAboutNoPurchase() {
        for row in rows where row.object != .data {
            #expect(!row.isAboutPurchase)
            #expect(row.transaction == NotificationRow.Presence.none)
            #expect(row.renewal == NotificationRow.Presence.none)
        }
    }

    @Test func anAnswerIsPutDownToTheAnswerAndANotificationToItsMeaning() {
        let lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "1")
        func cause(_ source: Observation.Source, _ type: String?, _ subtype: String? = nil) -> TransitionCause {
            NotificationTable.cause(
                of: Observation(
                    lineage: lineage, source: source, signedDate: Forge.now, notificationType: type, subtype: subtype))
        }
        #expect(cause(.notification, "DID_RENEW", "BILLING_RECOVERY") == .recovery)
        #expect(cause(.notification, "TOMORROW") == .other)
        #expect(cause(.status, nil) == .answer)
        #expect(cause(.device, nil) == .answer)
    }
}
