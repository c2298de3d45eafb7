package import Runtime

/// When Apple counts as slow, as gone and as back, and how often that is looked at while nobody calls.
package struct AppleHealthSettings: Sendable, Hashable {
    /// An answer that took longer counts as none.
    package var slowAfter = Duration.seconds(5)
    /// Failures in a row, one after the other, from which on Apple counts as unreachable.
    package var unreachableAfter = 3
    /// Good calls in a row, one after the other, that it takes to count as fine again …
    package var goodCalls = 3
    /// … and how long the last failure must be past.
    package var calm = Duration.seconds(10)
    package var probes = true
    /// Without any call for so long, a harmless one is made.
    package var probeEvery = Duration.seconds(60)
    /// The same while Apple is not fine; doubled with each probe that fails, up to `probeEvery`.
    package var probeAgain = Duration.seconds(5)
    /// Changes that are kept for operators.
    package var changesKept = 100

    package init() {}

    /// Reads `appStore.health.*`.
    package init(_ settings: inout SettingsReader) {
        slowAfter = settings.duration(
            "appStore.health.slowAfter", default: slowAfter, in: .milliseconds(50) ... .seconds(60),
            "A call to Apple that took longer counts as failed, answered or not.")
        unreachableAfter = settings.integer(
            "appStore.health.unreachableAfter", default: unreachableAfter, in: 2...100,
            "Failed calls in a row from which on Apple counts as unreachable (level B); one makes level A.")
        goodCalls = settings.integer(
            "appStore.health.goodCalls", default: goodCalls, in: 1...100,
            "Good calls in a row that it takes until Apple counts as fine again.")
        calm = settings.duration(
            "appStore.health.calm", default: calm, in: .zero ... .seconds(3600),
            "How long the last failed call must be past until Apple counts as fine again.")
        probes = settings.boolean(
            "appStore.health.probes", default: probes,
            "Ask Apple for a transaction that does not exist when no call was made for a while; only for apps with a key."
        )
        probeEvery = settings.duration(
            "appStore.health.probeEvery", default: probeEvery, in: .milliseconds(50) ... .seconds(3600),
            "How long there is no call to Apple until a probe is made.")
        probeAgain = settings.duration(
            "appStore.health.probeAgain", default: probeAgain, in: .milliseconds(10) ... .seconds(600),
            "The same while Apple is not fine; doubled with each probe that fails, up to appStore.health.probeEvery.")
        changesKept = settings.integer(
            "appStore.health.changesKept", default: changesKept, in: 1...10_000,
            "Changes of Apple's health that a process keeps for /apple on its operators' listener.")
        if probeAgain > probeEvery {
            settings.complain(about: "appStore.health.probeAgain", "must not be more than appStore.health.probeEvery")
        }
    }
}
