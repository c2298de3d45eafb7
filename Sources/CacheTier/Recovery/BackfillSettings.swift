package import Runtime

/// How what Apple says it sent is compared with what came, again and again.
package struct BackfillSettings: Sendable {
    /// Whether consumers do it by themselves.
    package var isRegular = true
    package var every = Duration.seconds(300)
    /// So much of the history is read again each time: Apple may enter something late.
    package var window = Duration.seconds(900)
    /// What is younger is on its way, and left to the next time.
    package var grace = Duration.seconds(60)
    /// Nobody having been there for longer than this, what came meanwhile is in doubt.
    package var silence = Duration.seconds(120)
    /// So far back the history of an app is read that is new here.
    package var reach = Duration.seconds(180 * 86_400)

    package init() {}

    /// Reads `backfill.*`.
    package init(_ settings: inout SettingsReader) {
        isRegular = settings.boolean(
            "backfill.regular", default: isRegular,
            "Consumers compare what Apple says it sent with what came, and send what is missing through the line.")
        every = settings.duration(
            "backfill.every", default: every, in: .seconds(1) ... .seconds(86_400),
            "How often they do; sooner after a gap.")
        window = settings.duration(
            "backfill.window", default: window, in: .seconds(1) ... .seconds(7 * 86_400),
            "So much of the history before the last time is read again each time, as Apple may enter something late.")
        grace = settings.duration(
            "backfill.grace", default: grace, in: .zero ... .seconds(3600),
            "What Apple sent less long ago is on its way, and left to the next time.")
        silence = settings.duration(
            "backfill.silence", default: silence, in: .seconds(10) ... .seconds(86_400),
            "When no gateway or no consumer was there for longer than this, the history is read from then on.")
        reach = settings.duration(
            "backfill.reach", default: reach, in: .seconds(60) ... .seconds(180 * 86_400),
            "So far back the history of a newly configured app is read; Apple keeps 180 days, 30 in the sandbox.")
    }
}
