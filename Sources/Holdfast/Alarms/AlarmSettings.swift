import Runtime

/// How often each process looks at what nobody would tell it: clocks, certificates, and whether notifications come.
struct AlarmSettings: Sendable {
    var lookEvery = Duration.seconds(30)

    init() {}

    /// Reads `alarms.*`.
    init(_ settings: inout SettingsReader) {
        lookEvery = settings.duration(
            "alarms.lookEvery", default: lookEvery, in: .milliseconds(100) ... .seconds(600),
            "How often a process looks at clocks, at certificates and at how notifications come, for its metrics.")
    }
}
