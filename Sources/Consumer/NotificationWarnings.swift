import AppStore

/// The members of a verified notification that could not be read: for the log line that says what became of it, and for
/// a metric.
struct NotificationWarnings: Sendable {
    private var warnings: [(kind: PayloadKind, warning: PayloadWarning)] = []

    init() {}
    init(_ notification: VerifiedNotification) { warnings = notification.warnings }

    var isEmpty: Bool { warnings.isEmpty }

    var counts: [PayloadKind: Int] { warnings.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 } }

    /// Such as `transaction: price is not a number; …`, of bounded length.
    var text: String {
        let shown = warnings.prefix(Self.limit).map { "\($0.kind.rawValue): \($0.warning)" }
        let rest = warnings.count - shown.count
        return (rest > 0 ? shown + ["\(rest) more"] : shown).joined(separator: "; ")
    }

    private static let limit = 16
}
