package import AppStore
package import Broker
import CacheTier
import Entitlements
import JSON
package import Runtime
import Time

/// Tells others how Apple's API does, as this process sees it: an `apple.health` for each change, in their order.
///
/// While the broker takes nothing a change waits, and those after it, so what is told late says by `at` when it was.
package struct AppleHealthEvents: Sendable {
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let settings: ConsumerSettings
    private let metrics: ConsumerMetrics
    private let log: Log
    /// Tells the changes of this process from those of others, which look for themselves.
    private let observer: String

    package init(
        publisher: any MessagePublisher, names: BrokerNames, settings: ConsumerSettings, metrics: Metrics, log: Log
    ) {
        self.publisher = publisher
        self.names = names
        self.settings = settings
        self.metrics = ConsumerMetrics(metrics)
        self.log = log.part("apple-events")
        let digits = Array("0123456789abcdef")
        observer = String((0..<12).map { _ in digits[Int.random(in: 0..<16)] })
    }

    /// The service that follows `health`.
    package func follower(of health: AppleHealthMonitor) -> AppleHealthFollower {
        AppleHealthFollower(name: "apple-events", health: health) { await tell($0) }
    }

    /// Returns once the broker has it, or the task is cancelled.
    func tell(_ change: AppleHealthMonitor.Change) async {
        guard settings.publishEvents else { return }
        let event = message(of: change)
        while !Task.isCancelled {
            do {
                try await publisher.publish(
                    event.message, to: names.events, routingKey: event.routingKey, mandatory: false)
                return metrics.event(event.name, "published")
            } catch {
                log.warning(
                    "an event was not taken", ["event-name": .init(event.name.rawValue), "error": .init(error)])
                metrics.event(event.name, "failed")
            }
            do { try await Task.sleep(for: settings.rest) } catch { return }
        }
    }

    func message(of change: AppleHealthMonitor.Change) -> EventMessage {
        let name = EventName.appleHealth
        let id = EventMessage.id("apple-\(observer)-\(change.number)", name)
        var json = JSONWriter()
        json.beginObject()
        json.member("event", name.rawValue)
        json.member("id", id)
        json.member("observer", observer)
        change.write(to: &json)
        json.endObject()
        return EventMessage(
            name, id: id, app: change.app, environment: change.environment, body: json.bytes, cause: nil, at: change.at)
    }
}
