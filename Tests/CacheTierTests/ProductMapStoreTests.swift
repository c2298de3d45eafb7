import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite(.everyStore) struct ProductMapStoreTests {
    @Test func untilOneIsPublishedThereIsNone() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = ProductMapStore(redis: redis)
            let published = try await store.published(of: app.id)
            #expect(published == nil)
            #expect(try await store.versions(of: app.id).isEmpty)
            #expect(try await store.version(1, of: app.id) == nil)
        }
    }

    @Test func aVersionIsKeptWithAllThatIsSaidOfIt() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let store = ProductMapStore(redis: redis)
            let (one, two) = (document(["a": ["x"]]), document(["a": ["x"], "b": []]))
            let publication = try await store.publish(
                one, for: app.id, expecting: 0, first: document(["s": []]), by: "anna", comment: "why not", at: day(1))
            #expect(publication == .published(version: 1))
            #expect(try await publish(two, for: app, in: redis, over: 1) == .published(version: 2))
            let first = try #require(try await store.version(1, of: app.id))
            #expect(first.document == one)
            #expect(first.facts.by == "anna")
            #expect(first.facts.comment == "why not")
            #expect(first.facts.publishedAt == day(1))
            #expect(first.facts.digest == one.digest)
            #expect(try await store.published(of: app.id)?.document == two)
            #expect(try await store.published(of: app.id)?.map.version == "2")
            // What counted before the first publication can be looked up, too.
            #expect(try await store.version(0, of: app.id)?.document == document(["s": []]))
            #expect(try await store.versions(of: app.id).map(\.facts.version) == [2, 1, 0])
        }
    }

    @Test func ofManyPublishersThatSawTheSameVersionOneWins() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            for round in 0..<10 as Range<UInt64> {
                let results = try await withThrowingTaskGroup(of: (Int, ProductMapStore.Publication).self) { group in
                    for number in 0..<6 {
                        group.addTask {
                            (number, try await publish(document(["p\(number)": []]), for: app, in: redis, over: round))
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let winners = results.filter { $0.1 == .published(version: round + 1) }
                #expect(winners.count == 1)
                check(results.count { $0.1 == .conflict(current: round + 1) } == 5)
                let winner = try #require(winners.first)
                #expect(
                    try await ProductMapStore(redis: redis).published(of: app.id)?.document
                        == document(["p\(winner.0)": []]))
            }
        }
    }

    @Test func bytesThatAreNotThoseThatWerePublishedAreNoMap() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            try await publish(document(["a": ["x"]]), for: app, in: redis)
            let key = StorageLayout.productMaps(of: app.id)
            let other = document(["a": ["y"]]).canonical
            _ = try await redis.send(["HSET", .text(key), "d:1", .bytes(other)])
            do throws(StoreError) {
                _ = try await ProductMapStore(redis: redis).published(of: app.id)
                Issue.record("it was taken")
            } catch {
                #expect("\(error)".contains("do not have its digest"), "\(error)")
            }
        }
    }

    // MARK: Unmapped products

    @Test func productsThatNoMapKnowsAreKeptByNameWithTheirEnvironment() async throws {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let unmapped = UnmappedProducts(redis: redis)
            for number in 1...3 { try await unmapped.note("new", of: app.id, in: .production, at: day(number)) }
            // Late news do not turn the clock back.
            try await unmapped.note("new", of: app.id, in: .production, at: day(2))
            try await unmapped.note("new", of: app.id, in: .sandbox, at: day(5))
            try await unmapped.note("odd:id %", of: app.id, in: .sandbox, notifications: 0, at: day(4))
            let (all, more) = try await unmapped.list(of: app.id, notIn: ProductMap())
            #expect(more == 0)
            #expect(all.map(\.productID) == ["new", "odd:id %", "new"])
            #expect(all.map(\.environment) == [.sandbox, .sandbox, .production])
            #expect(all.map(\.notifications) == [1, 0, 4])
            #expect(all[2].firstSeen == day(1))
            #expect(all[2].lastSeen == day(3))
            // A map that knows it takes it off the list, and forgetting makes room.
            let map = ProductMap(products: ["new": .init()])
            #expect(try await unmapped.list(of: app.id, notIn: map).0.map(\.productID) == ["odd:id %"])
            try await unmapped.forget(knownTo: map, of: app.id)
            #expect(try await unmapped.list(of: app.id, notIn: ProductMap()).0.map(\.productID) == ["odd:id %"])
        }
    }

    @Test("Invariant 10: names of unmapped products are bounded") func namesOfUnmappedProductsAreBounded() async throws
    {
        let app = TestApp()
        try await withRedis(try await TestStore.shared()) { redis in
            let unmapped = UnmappedProducts(redis: redis)
            for number in 0..<UnmappedProducts.bound + 5 {
                try await unmapped.note("p\(number)", of: app.id, in: .production, at: day(1))
            }
            try await unmapped.note("p0", of: app.id, in: .production, at: day(1))
            let (all, more) = try await unmapped.list(of: app.id, notIn: ProductMap())
            #expect(all.count == UnmappedProducts.bound)
            #expect(more == 5)
            check(all.first { $0.productID == "p0" }?.notifications == 2)
        }
    }
}
