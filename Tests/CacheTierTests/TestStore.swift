import EmbeddedStore
import Redis
import Runtime
import TestSupport
import Testing

/// What the store lies in while a test runs: a Redis, or a file. Tests of suites with `.everyStore` run once with each,
/// so that both keep the same promises.
enum TestStore: Sendable {
    case redis(RedisServer)
    case embedded(EmbeddedRedis)

    enum Kind: String, CaseIterable, Sendable { case redis, embedded }

    @TaskLocal static var kind = Kind.redis

    /// The one of the present kind that all tests of this process share.
    static func shared() async throws -> TestStore {
        switch kind {
        case .redis: .redis(try await RedisServer.shared())
        case .embedded: .embedded(try await file.value.store)
        }
    }

    private struct File: Sendable {
        let folder: TemporaryFolder
        let store: EmbeddedRedis
    }

    private static let file = Task {
        let folder = try TemporaryFolder("embedded")
        let store = try EmbeddedRedis(settings: EmbeddedStoreSettings(path: folder.file("store.db")))
        try await store.start()
        return File(folder: folder, store: store)
    }

    func connector(
        loop: EventLoop, metrics: Metrics = Metrics(), _ adjust: (inout RedisSettings) -> Void = { _ in }
    ) -> RedisConnector {
        switch self {
        case .redis(let server):
            var settings = RedisSettings()
            settings.port = server.port
            settings.reconnectDelay = .milliseconds(100)
            adjust(&settings)
            return settings.connector(loop: loop, metrics: metrics)
        case .embedded(let store): return store.connector
        }
    }
}

/// Runs every test of a suite once with each kind of store.
struct EveryStore: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for kind in TestStore.Kind.allCases {
            try await TestStore.$kind.withValue(kind) { try await function() }
        }
    }
}

extension Trait where Self == EveryStore {
    static var everyStore: EveryStore { EveryStore() }
}
