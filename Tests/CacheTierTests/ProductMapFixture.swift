import Entitlements
import Redis
import Runtime
import TestSupport
import Time

@testable import CacheTier

/// A document of products that give what is named.
func document(_ products: [String: Set<String>]) -> ProductMapDocument {
    ProductMapDocument(products: products.mapValues { ProductMap.Product(entitlements: $0, group: "g") })
}

/// Publishes over whatever counts.
@discardableResult
func publish(
    _ document: ProductMapDocument, for app: TestApp, in redis: any RedisLink, over expected: UInt64 = 0,
    at instant: Timestamp = day(0)
) async throws -> ProductMapStore.Publication {
    try await ProductMapStore(redis: redis).publish(
        document, for: app.id, expecting: expected, first: ProductMapDocument(products: products.products), by: "tests",
        comment: "", at: instant)
}

/// Gives `body` the followed maps of one app, whose settings have the map `products`.
func withProductMaps<Value>(
    _ store: TestStore, _ app: TestApp, folder: String? = nil, metrics: Metrics = Metrics(),
    log: Log = .discarding, _ body: (ProductMaps) async throws -> Value
) async throws -> Value {
    var settings = ProductMapSettings()
    settings.followEvery = .milliseconds(50)
    settings.folder = folder
    let loop = try EventLoop(name: "maps-test")
    let maps = ProductMaps(
        [app.id: products], settings: settings, redis: store.connector(loop: loop, metrics: metrics), metrics: metrics,
        log: log)
    await maps.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(maps)) } catch { result = .failure(error) }
    await maps.drain()
    loop.stop()
    return try result.get()
}

/// The same over a Redis of the test's own.
func withProductMaps<Value>(
    _ server: RedisServer, _ app: TestApp, folder: String? = nil, metrics: Metrics = Metrics(),
    log: Log = .discarding, _ body: (ProductMaps) async throws -> Value
) async throws -> Value {
    try await withProductMaps(
        TestStore.redis(server), app, folder: folder, metrics: metrics, log: log, body)
}
