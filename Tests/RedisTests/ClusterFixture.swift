import Runtime
import TestSupport

@testable import Redis

/// Gives `body` a link to a cluster, connected, on a loop of its own, and closes both afterwards.
func withCluster<Value>(
    _ servers: RedisClusterServers, _ adjust: (inout RedisSettings) -> Void = { _ in },
    _ body: (RedisCluster) async throws -> Value
) async throws -> Value {
    var settings = RedisSettings()
    settings.mode = .cluster
    settings.addresses = servers.addresses.prefix(1).map { RedisAddress(host: $0.host, port: $0.port) }
    settings.reconnectDelay = .milliseconds(200)
    settings.topologyEvery = .seconds(1)
    settings.commandTimeout = .seconds(20)
    adjust(&settings)
    let loop = try EventLoop(name: "cluster-test")
    let cluster = RedisCluster(
        name: "test", settings: settings, loop: loop, metrics: Metrics(), log: .discarding)
    await cluster.start()
    let result: Result<Value, any Error>
    do {
        guard await cluster.waitUntilConnected(within: .seconds(60)) else { throw CommandError("not connected") }
        result = .success(try await body(cluster))
    } catch { result = .failure(error) }
    await cluster.close()
    loop.stop()
    return try result.get()
}

/// The tag of every partition that the store has, spread over the cluster.
let tags = (0..<64).map { "{p\($0 < 10 ? "0" : "")\($0)}" }

/// A name that no other test uses.
func uniqueName(_ purpose: String) -> String { RedisServer.uniqueApp(purpose) }
