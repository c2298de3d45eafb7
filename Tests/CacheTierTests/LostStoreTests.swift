import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

/// What reads say while a store that lost its data has not got it back, and once it has.
@Suite("A store that lost its data", .timeLimit(.minutes(6))) struct LostStoreTests {
    private let app = TestApp("lost-store")
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("lost-store") }

    /// Lets a snapshot follow until it has everybody, and takes the data from the store.
    private func loseEverything(_ server: RedisServer, _ redis: any RedisLink) async throws {
        _ = try await LineageStore(redis: redis).apply(app.period("1", token: anna))
        try await withSnapshot(server, app, in: folder) { _, _ in
            check(try await eventually { try meta(in: folder).isComplete })
        }
        try await server.replace()
        #expect(await redis.waitUntilConnected(within: .seconds(60)))
    }

    private func snapshotFile() throws -> SnapshotFile {
        try SnapshotFolder(folder.file("snapshot")).open(at: day(0)).file
    }

    @Test("Invariant 5: nobody is said to have nothing where the snapshot cannot say what was lost")
    func nobodyIsSaidToHaveNothingWhereTheSnapshotCannotSay() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                try await loseEverything(server, redis)
                try snapshotFile().write([]) { $0.isComplete = false }
                try await withSnapshot(server, app, in: folder) { cache, _ in
                    let known = try await cache.load(app.key(anna), at: day(1))
                    #expect(known.evaluation.entitlements.map(\.active) == [true])
                    var failure: ReadFailure?
                    do throws(ReadFailure) { _ = try await cache.load(app.key(ben), at: day(1)) } catch {
                        failure = error
                    }
                    #expect(failure == .storeLacksData)
                    let silence = cache.silence(about: app.key(ben))
                    #expect(silence.level > .s)
                    // Who buys now is known again.
                    _ = try await LineageStore(redis: redis).apply(app.period("9", of: app.lineage("9"), token: ben))
                    let bought = try await cache.load(app.key(ben), at: day(1))
                    #expect(bought.evaluation.entitlements.map(\.active) == [true])
                    #expect(bought.reason == .storeReplaced)
                }
            }
        }
    }

    @Test func aSnapshotThatHasEverybodyKnowsWhoHadNothing() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                try await loseEverything(server, redis)
                try await withSnapshot(server, app, in: folder) { cache, _ in
                    let answer = try await cache.load(app.key(ben), at: day(1))
                    #expect(answer.evaluation.entitlements.isEmpty)
                    #expect(answer.reason == .storeReplaced)
                }
            }
        }
    }

    @Test func onceItWasGivenBackReadsOfUnknownCustomersBringTheReserveBackToNobody() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                _ = try await LineageStore(redis: redis).apply(app.period("1", token: anna))
                try await withSnapshot(server, app, in: folder, seeds: true) { cache, snapshot in
                    check(
                        try await eventually {
                            snapshot.state.now.meta?.isComplete == true && snapshot.state.now.heard != nil
                        })
                    _ = try await cache.load(app.key(anna), at: day(1))
                    let lost = snapshot.state.now.meta?.store
                    try await server.replace()
                    check(
                        try await eventually {
                            let answer = try await cache.load(app.key(anna), at: day(1))
                            let meta = snapshot.state.now.meta
                            return answer.reason == .current && !snapshot.owesStore && meta?.store != lost
                                && meta?.isComplete == true
                        })
                    for number in 0..<20 {
                        // Memory may have answered before the connection was there again.
                        check(
                            try await eventually {
                                try await cache.load(app.key("nobody-\(number)"), at: day(1)).source != .memory
                            })
                    }
                    let answer = try await cache.load(app.key(anna), at: day(1))
                    #expect(answer.reason == .current)
                    #expect(answer.level == .s)
                }
            }
        }
    }
}
