import Redis
import Runtime

/// Shows whether this machine's clock can be believed: by the kernel's word and by Redis'. Apple's is seen with every call
/// (`ServerClock`).
struct ClockWatch: Sendable {
    private let redis: any RedisLink
    private let clock: WallClock
    private let synchronized: Gauge
    private let skew: Gauge
    private let log: Log

    init(redis: any RedisLink, metrics: Metrics, clock: WallClock = .system, log: Log) {
        self.redis = redis
        self.clock = clock
        synchronized = metrics.gauge(
            "holdfast_clock_synchronized", "Whether somebody (NTP) keeps this machine's clock right.")
        skew = metrics.gauge(
            "holdfast_redis_clock_skew_seconds",
            "How far Redis' clock is ahead of this machine's at least; of several servers the one that differs most.")
        self.log = log.part("clock-watch")
    }

    func look() async {
        synchronized.set(Machine.clockIsSynchronized ? 1 : 0)
        guard redis.isConnected else { return }
        do throws(RedisError) {
            var worst = Duration.zero
            for server in try await redis.parts() {
                guard let seen = try await RedisClock.compare(with: server, by: clock)?.aheadAtLeast else { continue }
                if abs(seen) > abs(worst) { worst = seen }
            }
            skew.set(worst / .seconds(1))
        } catch {
            log.warning("Redis' clock cannot be seen", ["error": .init(error)])
        }
    }

    private func abs(_ duration: Duration) -> Duration { max(duration, .zero - duration) }
}
