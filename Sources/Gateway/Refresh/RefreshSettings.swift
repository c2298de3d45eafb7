package import Runtime

/// How Apple is asked for reads with `?refresh=true`.
package struct RefreshSettings: Sendable, Hashable {
    /// How long such a read waits for Apple before it is answered by what is known.
    package var timeout = Duration.seconds(3)
    /// Within this time the last refresh of a customer answers the next one.
    package var again = Duration.seconds(5)
    /// Purchases of one customer that are asked about at once.
    package var lineages = 16
    /// Customers about whom one gateway asks at once.
    package var atOnce = 256

    package init() {}

    package init(_ settings: inout SettingsReader) {
        timeout = settings.duration(
            "gateway.refreshTimeout", default: timeout, in: .milliseconds(50) ... .seconds(30),
            "How long a read with `?refresh=true` waits for Apple before it is answered by what is known.")
        again = settings.duration(
            "gateway.refreshAgain", default: again, in: .zero ... .seconds(600),
            "Within this time the last refresh of a customer answers the next one; Apple is not asked again.")
        lineages = settings.integer(
            "gateway.refreshLineages", default: lineages, in: 1...64,
            "Purchases of one customer that one refresh asks about, one call each; subscriptions come first.")
        atOnce = settings.integer(
            "gateway.refreshesAtOnce", default: atOnce, in: 1...10_000,
            "Customers about whom Apple is asked at once; reads that want one more are answered by what is known.")
    }
}
