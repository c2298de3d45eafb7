import AppStore
package import CacheTier
import Entitlements
package import Redis
import Runtime
import Time

/// Where it is noted what Apple answered and we did not know, and when that is examined.
package struct DriftNotebook: Sendable {
    private let store: DriftStore
    private let patience: Duration

    package init(redis: any RedisCommands, settings: DriftSettings = DriftSettings()) {
        store = DriftStore(redis: redis, settings: settings)
        patience = settings.patience
    }

    /// Best effort: the record is right by now, and only the count would lack one.
    func note(_ drift: Drift, of record: LineageRecord, _ log: Log) async {
        let log = log.with([
            "lineage": .init(drift.lineage.originalTransactionID), "purpose": .init(drift.purpose.rawValue),
            "fields": .init(drift.differences.map(\.field.rawValue).joined(separator: " ")),
            "before": .init(drift.before?.rawValue ?? ""), "after": .init(drift.after?.rawValue ?? ""),
        ])
        do throws(StoreError) {
            let due = drift.foundAt + record.patience(upTo: patience)
            if try await store.note(drift, due: due) { log.info("Apple says otherwise than we knew") }
        } catch { log.warning("what Apple says otherwise than we knew was not noted", ["error": .init(error)]) }
    }
}

extension LineageRecord {
    /// A part of the period at most: in Apple's sandbox a month has five minutes.
    func patience(upTo longest: Duration) -> Duration {
        guard let newest = transactions.last, let end = newest.expiresDate, end > newest.purchaseDate else {
            return longest
        }
        return min(longest, (end - newest.purchaseDate) / 10)
    }
}

extension DeliveryHandler {
    /// Notes what one of Apple's answers brought that a notification should have told. What a reader asked for is left out:
    /// it may well be faster than the notification.
    func noteDrift(_ decoded: DecodedStatuses, _ observation: Observation, _ change: AppliedChange) async {
        guard let notebook = drift, decoded.message.purpose != .refresh else { return }
        let differences = Drift.found(before: change.before, answer: observation)
        guard !differences.isEmpty else { return }
        let rules = decoder.apps[decoded.app]
        let instant = decoded.message.answeredAt
        func state(_ record: LineageRecord?) -> LineageState? {
            guard let record, let rules else { return nil }
            return record.evaluated(at: instant, map: rules.map, policy: rules.policy).state
        }
        let drift = Drift(
            id: "\(decoded.message.id):\(observation.lineage.originalTransactionID)", lineage: observation.lineage,
            transactionID: decoded.message.question.transactionID, purpose: decoded.message.purpose, foundAt: instant,
            differences: differences, before: state(change.before), after: state(change.after))
        await notebook.note(drift, of: change.after, log.with(["app": .init(decoded.app)]))
    }
}
