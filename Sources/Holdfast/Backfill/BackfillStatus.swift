import CacheTier
import Consumer
import Entitlements
import JSON
import Redis
import Runtime
import Time

/// `holdfast backfill --status`: whether all that Apple says it sent is with us, and when that was last looked at.
struct BackfillStatus {
    let app: AppID
    let environment: StoreEnvironment
    let standing: RecoveryStore.Standing
    let missing: MissingNotifications
    let settings: BackfillSettings
    let now: Timestamp

    /// Of one app, in the environments given.
    static func all(
        of app: AppSettings, in environments: [StoreEnvironment], settings: HoldfastSettings, redis: any RedisCommands,
        at now: Timestamp
    ) async throws(StoreError) -> [BackfillStatus] {
        var all: [BackfillStatus] = []
        for environment in environments {
            let jobs = RecoveryStore(
                redis: redis, app: app.id, environment: environment, settings: settings.recovery)
            all.append(
                BackfillStatus(
                    app: app.id, environment: environment, standing: try await jobs.standing(),
                    missing: try await jobs.missing(), settings: settings.backfill, now: now))
        }
        return all
    }

    /// What to worry about; nil when all is well.
    var worry: String? {
        guard let check = standing.check else { return "no consumer with a key for Apple has looked yet" }
        if check.notWithUs > 0 { return "\(check.notWithUs) that Apple sent did not come or cannot be used" }
        return now - check.checkedAt > patience ? "nobody has looked since \(check.checkedAt.rfc3339)" : nil
    }

    /// Three times missed is no chance.
    private var patience: Duration { max(settings.every * 3, .seconds(300)) + settings.grace }

    var text: String {
        var lines = ["\(app) \(environment.rawValue): \(standing.sentence(at: now))"]
        if let check = standing.check {
            lines.append("  without a gap from \(check.since.rfc3339) to \(check.until.rfc3339)")
            lines.append("  the last time \(check.sent) sent by Apple, \(check.found) of them made up for")
        }
        for (uuid, one) in named.prefix(5) {
            lines.append(
                "  not with us: \(Console.printable(uuid)), signed at \(one.signedDate.rfc3339), sent through the line at \(one.sentAt.rfc3339)"
            )
        }
        if named.count > 5 { lines.append("  and \(named.count - 5) more; --json names them") }
        for gap in standing.gaps.sorted(by: { $0.from < $1.from }) {
            lines.append("  still to be read: \(gap.cause.sentence) from \(gap.from.rfc3339) to \(gap.until.rfc3339)")
        }
        if let first = standing.first {
            let figures = first.history.figures
            let how = first.phase == .done ? "was read" : "is being read (\(Int(first.history.fraction * 100)) %)"
            lines.append(
                "  its history since \(first.history.from.rfc3339) \(how): \(figures.sent) sent by Apple, "
                    + "\(figures.new &+ figures.beyondMemory) made up for")
        }
        if let worry { lines.append("  \(worry)") }
        return lines.joined(separator: "\n")
    }

    /// The oldest first.
    private var named: [(key: String, value: MissingNotifications.Missing)] {
        missing.named.sorted { ($0.value.signedDate, $0.key) < ($1.value.signedDate, $1.key) }
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("app", app.rawValue)
        json.member("environment", environment.rawValue)
        standing.write(to: &json, at: now)
        json.array("missingNotifications", named) { json, one in
            json.beginObject()
            json.member("uuid", one.key)
            json.member("signedAt", one.value.signedDate.rfc3339)
            json.member("sentThroughLineAt", one.value.sentAt.rfc3339)
            json.endObject()
        }
        json.member("worry", worry)
        json.endObject()
    }
}

extension BackfillGap.Cause {
    var sentence: String {
        switch self {
        case .refused: "a gateway turned Apple away"
        case .gatewaysSilent: "no gateway was there"
        case .consumersSilent: "no consumer was there"
        }
    }
}
