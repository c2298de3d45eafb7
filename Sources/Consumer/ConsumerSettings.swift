package import Runtime

/// How notifications are applied. How many are in hand at a time is the broker's `prefetch`.
package struct ConsumerSettings: Sendable {
    /// Whether others are told, on the exchange `events`, what was notified and what changed.
    package var publishEvents = true
    /// How long intake rests after Redis or the broker failed, before looking whether they are back.
    package var rest = Duration.seconds(1)

    package init() {}
}

extension ConsumerSettings {
    /// Reads the keys under `consumer`.
    package init(_ settings: inout SettingsReader) {
        self.init()
        publishEvents = settings.boolean(
            "consumer.publishEvents", default: publishEvents,
            "Publish what was notified and what changed on the exchange `events`.")
        rest = settings.duration(
            "consumer.rest", default: rest, in: .milliseconds(10)...(.seconds(60)),
            "Rest of the intake after Redis or the broker failed, before looking whether they are back.")
    }
}
