internal import Runtime

/// What a change of Apple's health is due to, in words for people.
enum AppleCause {
    static func sentence(_ trouble: AppleTrouble, _ outcome: ServerAPIOutcome) -> String {
        let took = outcome.sentAt.map { (outcome.endedAt - $0) / .seconds(1) } ?? 0
        let tenths = Int64((min(took, 1e6) * 10).rounded())
        let after = "after \(tenths / 10).\(tenths % 10) s"
        switch (trouble, outcome.failure) {
        case (.slow, _): return "\(outcome.endpoint.name): answered only \(after)"
        case (_, let failure?) where failure.kind != .cancelled:
            return "\(failure) (\(after))".printable(limit: 300)
        default: return "\(outcome.endpoint.name): no answer when its caller gave up \(after)"
        }
    }

    static func recovery(_ settings: AppleHealthSettings) -> String {
        settings.goodCalls == 1 ? "a call was answered" : "\(settings.goodCalls) calls in a row were answered"
    }
}
