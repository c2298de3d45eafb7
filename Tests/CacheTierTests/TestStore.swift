import EmbeddedStore
import Redis
import Runtime
import TestSupport
import Testing

/// What the store lies in while a test runs: a Redis, a Redis Cluster of three nodes, or a file. Tests of suites with `.everyStore` run once
/// with each,
/// so that all keep the same promises.
enum TestStore: Sendable {
    case redis(RedisServer)
    case cluster(RedisClusterServers)
    case embedded(EmbeddedRedis)

    enum Kind: String, CaseIterable, Sendable { case redis, cluster, embedded }

    @TaskLocal static var kind = Kind.redis

    /// The one of the present kind that all tests of this process share.
    static func shared() async throws -> TestStore {
        switch kind {
        case .redis: .redis(try await RedisServer.shared())
        case .cluster: .cluster(try await RedisClusterServers.shared())
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
            settings.commandTimeout = .seconds(30)
            return connector(settings, loop, metrics, adjust)
        case .cluster(let servers):
            var settings = RedisSettings()
            settings.mode = .cluster
            settings.addresses = servers.addresses.map { RedisAddress(host: $0.host, port: $0.port) }
            settings.commandTimeout = .seconds(30)
            return connector(settings, loop, metrics, adjust)
        case .embedded(let store): return store.connector
        }
    }
}

extension TestStore {
    private func connector(
        _ settings: RedisSettings, _ loop: EventLoop, _ metrics: Metrics, _ adjust: (inout RedisSettings) -> Void
    ) -> RedisConnector {
        var settings = settings
        settings.reconnectDelay = .milliseconds(100)
        adjust(&settings)
        return settings.connector(loop: loop, metrics: metrics)
    }
}

/// Runs every test of a suite once with each of some kinds of store.
struct EveryStore: SuiteTrait, TestTrait, TestScoping {
    var kinds = TestStore.Kind.allCases
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for kind in kinds {
            try await TestStore.$kind.withValue(kind) { try await function() }
        }
    }
}

/// Runs one test of a suite with `.everyServer` on the cluster, too.
struct AlsoOnCluster: TestTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await function()
        guard testCase != nil, TestStore.kind == .redis else { return }
        try await TestStore.$kind.withValue(.cluster) { try await function() }
    }
}

extension Trait where Self == EveryStore {
    static var everyStore: EveryStore { EveryStore() }
    /// Each that is one server or none: a cluster takes three servers and their time, and most rules do not see it.
    static var everyServer: EveryStore { EveryStore(kinds: [.redis, .embedded]) }
}

extension Trait where Self == AlsoOnCluster {
    static var alsoOnCluster: AlsoOnCluster { AlsoOnCluster() }
}
