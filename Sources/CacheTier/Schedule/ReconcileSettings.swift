package import Runtime

/// How Apple is asked about what may have changed without anybody telling, and how customers are reminded.
package struct ReconcileSettings: Sendable {
    /// Whether consumers ask by themselves.
    package var isAutomatic = true
    /// How often a consumer looks for what is due.
    package var lookEvery = Duration.seconds(1)
    /// How long a consumer has for one question before another one asks it.
    package var lease = Duration.seconds(180)
    /// Questions of one consumer at a time.
    package var lanes = 16
    /// Whether events remind of ends.
    package var reminds = true

    package init() {}

    /// Reads `reconcile.*`.
    package init(_ settings: inout SettingsReader) {
        isAutomatic = settings.boolean(
            "reconcile.automatic", default: isAutomatic,
            "Consumers ask Apple about subscriptions when they are due; see holdfast reconcile --plan.")
        lookEvery = settings.duration(
            "reconcile.lookEvery", default: lookEvery, in: .milliseconds(200) ... .seconds(60),
            "How often a consumer looks in Redis for what is due.")
        lease = settings.duration(
            "reconcile.lease", default: lease, in: .seconds(10) ... .seconds(3600),
            "How long a consumer has for one question, tries included, before another consumer asks.")
        lanes = settings.integer(
            "reconcile.lanes", default: lanes, in: 1...256,
            "Questions of one consumer at a time; the call budget holds beside.")
        reminds = settings.boolean(
            "reconcile.reminders", default: reminds,
            "Events remind of an end 7 days, 3 days and 24 hours before it, if nothing will renew it.")
    }
}
