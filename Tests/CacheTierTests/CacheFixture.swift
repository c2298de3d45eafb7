import CacheTier
import Entitlements
import Redis
import Runtime
import TestSupport
import Time

/// A wall clock that a test sets.
final class TestClock: Sendable {
    let wall: WallClock
    private let instant: Instant

    private final class Instant: Sendable {
        let milliseconds: Gauge
        init(_ start: Timestamp) {
            milliseconds = Metrics().gauge("instant", "")
            milliseconds.set(Double(start.milliseconds))
        }
    }

    init(_ start: Timestamp = day(1)) {
        let instant = Instant(start)
        self.instant = instant
        wall = WallClock { Timestamp(milliseconds: Int64(instant.milliseconds.value)) }
    }

    var now: Timestamp {
        get { wall.now() }
        set { instant.milliseconds.set(Double(newValue.milliseconds)) }
    }
}

/// Gives `body` a cache that follows its feed, and ends it afterwards.
func withCache<Value>(
    _ store: TestStore, _ app: TestApp, maps: (any ProductMapSource)? = nil, metrics: Metrics = Metrics(),
    clock: TestClock = TestClock(),
    redis: (inout RedisSettings) -> Void = { _ in }, _ adjust: (inout CacheSettings) -> Void = { _ in },
    _ body: (EntitlementCache) async throws -> Value
) async throws -> Value {
    var settings = CacheSettings()
    settings.feedWait = .milliseconds(100)
    adjust(&settings)
    let loop = try EventLoop(name: "cache-test")
    let cache = EntitlementCache(
        settings: settings, redis: store.connector(loop: loop, metrics: metrics, redis),
        rules: [app.id: AppRules(products: products)], maps: maps, metrics: metrics, log: .discarding, clock: clock.wall
    )
    await cache.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    await cache.drain()
    loop.stop()
    return try result.get()
}

/// The same over a Redis of the test's own.
func withCache<Value>(
    _ server: RedisServer, _ app: TestApp, maps: (any ProductMapSource)? = nil, metrics: Metrics = Metrics(),
    clock: TestClock = TestClock(),
    redis: (inout RedisSettings) -> Void = { _ in }, _ adjust: (inout CacheSettings) -> Void = { _ in },
    _ body: (EntitlementCache) async throws -> Value
) async throws -> Value {
    try await withCache(
        TestStore.redis(server), app, maps: maps, metrics: metrics, clock: clock, redis: redis, adjust, body)
}

/// The failure with which there is no answer.
func readFailure(_ cache: EntitlementCache, _ key: CustomerKey) async -> ReadFailure? {
    do throws(ReadFailure) {
        _ = try await cache.load(key, at: day(1))
        return nil
    } catch {
        return error
    }
}
