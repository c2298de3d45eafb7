import Redis
import Runtime
import TestSupport

/// Gives `body` a client on a loop of its own, connected if that is possible, and closes both afterwards.
func withClient<Value>(
    port: Int, _ adjust: (inout RedisSettings) -> Void = { _ in }, _ body: (RedisClient) async throws -> Value
) async throws -> Value {
    var settings = RedisSettings()
    settings.port = port
    settings.reconnectDelay = .milliseconds(200)
    // A scripted server counts what it is sent; a busy machine must not slip a heartbeat in before the test's command.
    settings.heartbeat = .seconds(60)
    adjust(&settings)
    let loop = try EventLoop(name: "redis-test")
    let client = RedisClient(name: "test", settings: settings, loop: loop)
    await client.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    await client.close()
    loop.stop()
    return try result.get()
}

/// The code with which `body` fails; nil when it does not.
func redisFailure(_ body: () async throws -> Void) async -> RedisError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? RedisError)?.code
    }
}
