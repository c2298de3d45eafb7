package import AppStore
package import CacheTier
package import Entitlements
package import JSON
package import Runtime
import Synchronization
package import Time

/// What this process knows of the regular comparison of Apple's history with what came, for metrics and operators.
package final class BackfillStandings: Sendable {
    private let standings = Mutex<[AppleStore: RecoveryStore.Standing]>([:])
    private let metrics: Metrics
    private let clock: WallClock

    package init(metrics: Metrics = Metrics(), clock: WallClock = .system) {
        self.metrics = metrics
        self.clock = clock
    }

    package func note(_ standing: RecoveryStore.Standing, of app: AppID, _ environment: StoreEnvironment) {
        standings.withLock { $0[AppleStore(app, environment)] = standing }
        func gauge(_ name: String, _ help: String) -> Gauge {
            metrics.gauge(name, help, labels: ["app": app.rawValue, "environment": environment.rawValue])
        }
        let check = standing.check
        gauge(
            "holdfast_backfill_not_with_us",
            "Notifications that Apple says it sent and that no consumer has settled, as of the last check."
        ).set(Double(check?.notWithUs ?? 0))
        gauge(
            "holdfast_backfill_checked_timestamp_seconds",
            "When Apple's notification history was last compared with what came; 0: never."
        ).set(check.map { Double($0.checkedAt.milliseconds) / 1000 } ?? 0)
        gauge("holdfast_backfill_gaps", "Gaps over which Apple's history has not been read yet, by cause: 0 to 3.")
            .set(Double(standing.gaps.count))
    }

    package func standing(of app: AppID, _ environment: StoreEnvironment) -> RecoveryStore.Standing? {
        standings.withLock { $0[AppleStore(app, environment)] }
    }

    /// The member `backfill` of a store on the page `/apple`.
    package func write(_ store: AppleStore, to json: inout JSONWriter) {
        guard let standing = standing(of: store.app, store.environment) else { return }
        json.object("backfill") { standing.write(to: &$0, at: clock.now()) }
    }
}

extension RecoveryStore.Standing {
    package func write(to json: inout JSONWriter, at now: Timestamp) {
        json.member("sentence", sentence(at: now))
        if let check {
            json.member("ageSeconds", Int64((now - check.checkedAt) / .seconds(1)))
            check.write(to: &json)
        }
        json.array("openGaps", gaps.sorted { $0.from < $1.from }) { json, gap in
            json.beginObject()
            json.member("cause", gap.cause.rawValue)
            json.member("from", gap.from.rfc3339)
            json.member("until", gap.until.rfc3339)
            json.endObject()
        }
        if let first { json.object("newApp") { first.write(to: &$0) } }
    }

    /// For the operator.
    package func sentence(at now: Timestamp) -> String {
        guard let check else { return "what Apple sent was never compared with what came" }
        return "sent by Apple and not with us: \(check.notWithUs), checked \(Self.ago(now - check.checkedAt))"
    }

    private static func ago(_ time: Duration) -> String {
        let seconds = max(0, Int64(time / .seconds(1)))
        let (number, unit) =
            switch seconds {
            case ..<120: (seconds, "second")
            case ..<7200: (seconds / 60, "minute")
            case ..<172_800: (seconds / 3600, "hour")
            default: (seconds / 86_400, "day")
            }
        return "\(number) \(unit)\(number == 1 ? "" : "s") ago"
    }
}
