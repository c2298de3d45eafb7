package import AppStore
internal import Entitlements
package import Redis
package import Runtime
internal import Synchronization

/// Counts the calls of all processes, in Redis: one bucket a lane, by Redis' own clock.
///
/// When Redis does not answer, each process allows itself a part of the rate (`CallBudgetSettings.fallbackShare`) until
/// it does: calls go on, and as long as there are not more processes than the part allows for, Apple's limit holds.
package final class SharedCallBucket: CallBucket {
    private let redis: any RedisCommands
    private let settings: CallBudgetSettings
    private let fallback: LocalCallBucket
    private let fallbacks: Counter
    private let log: Log
    private let isAlone = Atomic(false)

    package init(
        redis: any RedisCommands, settings: CallBudgetSettings, metrics: Metrics = Metrics(), log: Log = .discarding
    ) {
        self.redis = redis
        self.settings = settings
        fallback = LocalCallBucket(settings: settings, part: Double(settings.fallbackShare) / 100)
        fallbacks = metrics.counter(
            "holdfast_app_store_api_budget_fallback_total",
            "Times that this process counted alone because Redis did not answer.")
        self.log = log.part("app-store-budget")
    }

    package func take(_ lane: CallLane, _ priority: CallPriority) async -> Duration? {
        do throws(RedisError) {
            let reply = try await redis.evaluate(
                CallBucketScripts.take, keys: [Self.key(of: lane)],
                arguments: [
                    .text("\(settings.rate(of: lane) / 1000)"), .text("\(settings.capacity(of: lane))"),
                    .text("\(settings.reserve(in: lane, for: priority))"), RedisArgument(priority.rawValue),
                    RedisArgument(Self.longestPause),
                ])
            guard let milliseconds = reply.integer, milliseconds >= 0 else {
                throw RedisError(.unexpectedReply, "the budget's script replied \(reply)")
            }
            heard(nil)
            return milliseconds == 0 ? nil : .milliseconds(milliseconds)
        } catch {
            heard(error)
            fallbacks.increment()
            return await fallback.take(lane, priority)
        }
    }

    package func pause(_ lane: CallLane, for delay: Duration) async {
        // Here too, for when Redis goes away meanwhile.
        await fallback.pause(lane, for: delay)
        do throws(RedisError) {
            _ = try await redis.evaluate(
                CallBucketScripts.pause, keys: [Self.key(of: lane)],
                arguments: [RedisArgument(max(1, Int64(delay / .milliseconds(1)))), RedisArgument(Self.longestPause)])
            heard(nil)
        } catch { heard(error) }
    }

    private func heard(_ error: RedisError?) {
        let wasAlone = isAlone.exchange(error != nil, ordering: .relaxed)
        if let error, !wasAlone {
            log.warning(
                "Redis does not count App Store calls; this process keeps to its own part of the limit",
                ["reason": .init(error), "percent": .init(settings.fallbackShare)])
        } else if error == nil, wasAlone {
            log.info("Redis counts App Store calls again")
        }
    }

    /// A pause that a clock set back would stretch ends after this many milliseconds.
    private static let longestPause: Int64 = 3_600_000

    /// By the bundle id, for that is what Apple counts by.
    static func key(of lane: CallLane) -> String {
        StorageLayout.key(
            "budget:\(StorageLayout.escaped(lane.bundleID)):\(lane.environment == .production ? "p" : "s"):\(lane.group)"
        )
    }
}
