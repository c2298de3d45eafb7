import EmbeddedStore
import Redis
import Runtime
import TestSupport

/// Gives `body` an embedded store in a folder of its own, and closes it afterwards.
func withStore<Value>(
    in folder: TemporaryFolder? = nil, clock: WallClock = .system,
    _ adjust: (inout EmbeddedStoreSettings) -> Void = { _ in },
    _ body: (EmbeddedRedis) async throws -> Value
) async throws -> Value {
    let folder = try folder ?? TemporaryFolder("embedded")
    var settings = EmbeddedStoreSettings(path: folder.file("store.db"))
    adjust(&settings)
    let store = try EmbeddedRedis(settings: settings, clock: clock)
    try await store.start()
    let result: Result<Value, any Error>
    do { result = .success(try await body(store)) } catch { result = .failure(error) }
    await store.drain()
    return try result.get()
}

/// Sends the words of a command, with blanks between them.
func send(_ redis: some RedisCommands, _ words: String) async throws -> RedisReply {
    try await redis.send(words.split(separator: " ").map { RedisArgument(String($0)) })
}

func run(_ redis: some RedisCommands, _ script: String, keys: [String] = []) async throws -> RedisReply {
    try await redis.evaluate(RedisScript(script), keys: keys, arguments: [])
}

/// The error with which a command is answered; nil when it is carried out.
func refusal(_ body: () async throws -> RedisReply) async -> RedisError? {
    do {
        _ = try await body()
        return nil
    } catch { return error as? RedisError ?? RedisError(.unexpectedReply, "\(error)") }
}
