package import Broker
package import CacheTier
package import Entitlements
package import Runtime
internal import Synchronization
internal import Time

/// Notes that Apple's notifications come, in Redis and for all consumers: from each of these at most once a minute for
/// an app and environment, so it costs the line nothing.
///
/// | a notification | counts |
/// |---|---|
/// | that Apple posted, applied or not | at the time of its intake, however long it lay in a queue or spool |
/// | found in the notification history | not: it says nothing of the way from Apple to us |
/// | that Apple posted to the other environment's address | not: nothing is known of its own address |
package final class ArrivalNotes: Sendable {
    private struct Place: Hashable {
        let app: AppID
        let environment: StoreEnvironment
    }

    private let arrivals: Arrivals
    private let clock: WallClock
    /// The newest minute noted.
    private let noted = Mutex<[Place: Int64]>([:])

    package init(_ arrivals: Arrivals, clock: WallClock = .system) {
        self.arrivals = arrivals
        self.clock = clock
    }

    /// `app` is one of the settings, so what is remembered of them is bounded.
    package func note(
        _ message: BrokerMessage, of app: AppID, in environment: StoreEnvironment
    ) async throws(StoreError) {
        guard message.headers[MessageHeader.history] == nil, message.headers[MessageHeader.address] == nil else {
            return
        }
        let received = message.headers[MessageHeader.receivedAt].flatMap { Timestamp(rfc3339: $0) }
        // A gateway whose clock is ahead must not end all silence to come.
        let instant = received.map { min($0, clock.now()) } ?? clock.now()
        let (place, minute) = (Place(app: app, environment: environment), instant.milliseconds / 60_000)
        let isNews = noted.withLock { noted in
            guard minute > noted[place] ?? .min else { return false }
            noted[place] = minute
            return true
        }
        if isNews { try await arrivals.note(at: instant, of: app, in: environment) }
    }
}
