package import AppStore
package import Broker
package import CacheTier
package import Entitlements
import JSON
package import Runtime
package import Time

/// Finds out why we did not know what Apple answered: whether the notification that should have told came meanwhile, what
/// Apple's notification history says of it, and tells the operator.
///
/// | the notification | Apple's history | with us | cause |
/// |---|---|---|---|
/// | no type tells of it | | | `untold` |
/// | | has none | | `neverSent` |
/// | after the check | has it, delivered | yes | `late` |
/// | before the check | has it | yes | `unheeded` |
/// | | has it, not delivered | whether or not a backfill has brought it | `undelivered` |
/// | | has it, delivered | no | `lost` |
/// | | has it, delivered | older than is remembered | `unknown` |
package struct DriftExamination: Sendable {
    /// What Apple's notification history says of one notification.
    package struct Told: Sendable, Hashable {
        package let type: String
        package let uuid: String
        package let lineage: LineageID
        package let signedDate: Timestamp
        package let isDelivered: Bool

        package init(
            type: String, uuid: String, lineage: LineageID, signedDate: Timestamp, isDelivered: Bool
        ) {
            self.type = type
            self.uuid = uuid
            self.lineage = lineage
            self.signedDate = signedDate
            self.isDelivered = isDelivered
        }
    }

    /// What Apple sent about the customer of a transaction from an instant on.
    package typealias History = @Sendable (Drift, Timestamp) async throws(ServerAPIFailure) -> [Told]

    let app: AppID
    let environment: StoreEnvironment
    private let store: DriftStore
    private let seen: SeenNotifications
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let publishesEvents: Bool
    private let history: History
    private let clock: WallClock
    private let metrics: ReconcileMetrics
    private let log: Log

    package init(
        app: AppID, environment: StoreEnvironment, store: DriftStore, seen: SeenNotifications,
        publisher: any MessagePublisher, names: BrokerNames, publishesEvents: Bool = true, clock: WallClock = .system,
        metrics: Metrics = Metrics(), log: Log = .discarding, history: @escaping History
    ) {
        self.app = app
        self.environment = environment
        self.store = store
        self.seen = seen
        self.publisher = publisher
        self.names = names
        self.publishesEvents = publishesEvents
        self.history = history
        self.clock = clock
        self.metrics = ReconcileMetrics(metrics, app: app, environment: environment)
        self.log = log.part("drift").with(["app": .init(app), "environment": .init(environment.rawValue)])
    }

    /// So many are taken at a time, for so long; who dies with them leaves them to others then.
    private static let batch = 8
    private static let lease = Duration.seconds(120)
    /// When Apple does not say, it is asked again this much later.
    private static let again = Duration.seconds(300)
    /// After that it counts as unknown.
    private static let patience = Duration.seconds(2 * 86_400)
    /// So far back Apple is asked what it sent about a lineage that we had not heard of: the sandbox keeps no more.
    private static let reach = Duration.seconds(29 * 86_400)
    /// Clocks of two consumers may differ by this much.
    private static let skew = Duration.seconds(5)

    /// Examines what is due; false when nothing was, or the process ends: what is put off then is due for others.
    package func examineDue() async throws(StoreError) -> Bool {
        guard !Task.isCancelled else { return false }
        let due = try await store.take(app, environment, at: clock.now(), limit: Self.batch, lease: Self.lease)
        for drift in due {
            if Task.isCancelled {
                // Another one goes on at once.
                try await store.putOff(drift, until: clock.now())
                continue
            }
            try await examine(drift)
        }
        return !due.isEmpty && !Task.isCancelled
    }

    private func examine(_ drift: Drift) async throws(StoreError) {
        var examined = drift
        switch await told(of: drift) {
        case .success(let told):
            for index in drift.differences.indices {
                let (cause, uuid) = try await cause(of: drift.differences[index], drift, told)
                examined.differences[index].cause = cause
                examined.differences[index].notificationUUID = uuid
            }
        case .failure(let failure):
            let isEnding = Task.isCancelled || failure.kind == .cancelled
            guard !isEnding, failure.isFinal || clock.now() - drift.foundAt > Self.patience else {
                log.info("a difference could not be examined, and is later", ["reason": .init(failure)])
                let again: Duration = isEnding ? .zero : Self.again
                return try await store.putOff(drift, until: clock.now() + again)
            }
            for index in drift.differences.indices { examined.differences[index].cause = .unknown }
        }
        // Before it is settled: whoever dies in between tells it again, under the same id.
        guard await tell(examined) else { return try await store.putOff(drift, until: clock.now() + Self.again) }
        guard try await store.settle(examined) else { return }
        for difference in examined.differences { metrics.drift(difference) }
        let fields: Log.Fields = [
            "lineage": .init(examined.lineage.originalTransactionID),
            "causes": .init(examined.causes),
        ]
        if examined.isAlarming {
            log.warning("a notification did not tell what it should have", fields)
        } else {
            log.info("a notification was late", fields)
        }
    }

    private func told(of drift: Drift) async -> Result<[Told], ServerAPIFailure> {
        guard !drift.differences.allSatisfy(\.tellers.isEmpty) else { return .success([]) }
        // From the oldest that may have told, and a little before: nothing is said of when Apple signs and when it sends.
        let dates = drift.differences.map { $0.since ?? drift.foundAt - Self.reach }
        let from = max(dates.min() ?? drift.foundAt, drift.foundAt - Self.reach) - .seconds(60)
        do throws(ServerAPIFailure) { return .success(try await history(drift, from)) } catch { return .failure(error) }
    }

    private func cause(
        of difference: Drift.Difference, _ drift: Drift, _ told: [Told]
    ) async throws(StoreError) -> (Drift.Cause, String?) {
        guard !difference.tellers.isEmpty else { return (.untold, nil) }
        let types = Set(difference.tellers.map(\.rawValue))
        let candidates = told.filter { one in
            one.lineage == drift.lineage && types.contains(one.type)
                && difference.since.map { one.signedDate > $0 } ?? true
        }.sorted { $0.signedDate < $1.signedDate }
        // The last one before Apple was asked; else one that Apple signed just after.
        guard
            let teller = candidates.last(where: { $0.signedDate <= drift.foundAt + Self.skew }) ?? candidates.first
        else { return (.neverSent, nil) }
        guard teller.isDelivered else { return (.undelivered, teller.uuid) }
        guard let settledAt = try await seen.settledAt(teller.uuid, of: app, in: environment) else {
            let listed = SeenNotifications.Listed(uuid: teller.uuid, signedDate: teller.signedDate)
            let verdict = try await seen.verdicts(on: [listed], of: app, in: environment).first
            return (verdict == .new ? .lost : .unknown, teller.uuid)
        }
        return (settledAt > drift.foundAt - Self.skew ? .late : .unheeded, teller.uuid)
    }

    /// False when the broker did not take it.
    private func tell(_ drift: Drift) async -> Bool {
        guard publishesEvents else { return true }
        let event = Self.event(drift, at: clock.now())
        do throws(BrokerError) {
            try await publisher.publish(
                event.message, to: names.events, routingKey: event.routingKey, mandatory: false)
            return true
        } catch {
            log.warning("an event was not taken", ["event-name": .init(event.name.rawValue), "error": .init(error)])
            return false
        }
    }

    static func event(_ drift: Drift, at instant: Timestamp) -> EventMessage {
        let name = EventName.driftFound
        var json = JSONWriter()
        json.beginObject()
        json.member("event", name.rawValue)
        json.member("app", drift.lineage.app.rawValue)
        drift.write(to: &json)
        json.endObject()
        return EventMessage(
            name, id: EventMessage.id(drift.id, name), app: drift.lineage.app,
            environment: drift.lineage.environment, body: json.bytes, cause: nil, at: instant)
    }
}

extension ServerAPIFailure {
    /// Whether Apple would say the same again.
    fileprivate var isFinal: Bool { !isRetryable && (kind == .refused || kind == .invalidRequest) }
}

extension Drift {
    /// For the log and for people.
    package var causes: String {
        differences.map { "\($0.field.rawValue):\($0.cause?.rawValue ?? "open")" }.joined(separator: " ")
    }
}
