package import AppStore
import Entitlements
package import Runtime
import Time

extension DriftExamination {
    /// Asks for Apple's notification history of the customer, by way of `client`. What in it does not pass verification tells
    /// nothing.
    package static func asking(
        _ client: ServerAPIClient, verifier: NotificationVerifier, identity: AppIdentity,
        clock: WallClock = .system
    ) -> History {
        { drift, from throws(ServerAPIFailure) in
            let now = clock.now()
            var filter = NotificationHistoryFilter(
                from: max(from, Backfill.earliest(in: client.environment, now: now)), to: now)
            filter.transactionID = drift.transactionID
            var pages = try client.notifications(filter, .sweep)
            var told: [Told] = []
            for _ in 0..<Self.pages {
                guard let read = try await pages.next() else { break }
                for item in read.page.notificationHistory {
                    if let one = Self.told(item, drift, verifier, identity, now) { told.append(one) }
                }
            }
            return told
        }
    }

    /// Nobody has so many notifications in the time that Apple keeps them.
    private static let pages = 50

    private static func told(
        _ item: NotificationHistoryResponse.Item, _ drift: Drift, _ verifier: NotificationVerifier,
        _ identity: AppIdentity, _ now: Timestamp
    ) -> Told? {
        guard let payload = item.signedPayload else { return nil }
        let notification: VerifiedNotification
        do throws(VerificationFailure) {
            notification = try verifier.verify(signedPayload: Array(payload.utf8)[...], for: identity, now: now)
        } catch {
            // A backfill puts it into quarantine.
            return nil
        }
        guard let news = notification.observation(app: drift.lineage.app), let type = news.notificationType,
            let uuid = news.notificationUUID
        else { return nil }
        return Told(
            type: type, uuid: uuid, lineage: news.lineage, signedDate: news.signedDate,
            isDelivered: item.sendAttempts.last?.sendAttemptResult == "SUCCESS")
    }
}
