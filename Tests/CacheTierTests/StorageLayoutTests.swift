import Entitlements
import TestSupport
import Testing

@testable import CacheTier

@Suite struct StorageLayoutTests {
    @Test func partitionsStayWhereTheyWere() {
        // Written down once: a store that is already filled is found by these.
        #expect(StorageLayout.partition(of: "demo:p:holder:anna") == 18)
        #expect(StorageLayout.partition(of: "") == 1)
        #expect(StorageLayout.partition(of: "demo:s:lineage:1000") == 53)
    }

    @Test func partitionsAreUsedEvenly() {
        var counts = [Int](repeating: 0, count: StorageLayout.partitions)
        for number in 0..<64_000 { counts[StorageLayout.partition(of: "demo:p:holder:\(number)")] += 1 }
        check(counts.allSatisfy { 800...1200 ~= $0 })
    }

    @Test(arguments: ["", "plain-._~", "a:b", "{p01}", "50%", "%41", "e\u{301}", "\u{e9}", "\0\r\n", "unclaimed:1"])
    func everyIdComesBackAsItWas(id: String) throws {
        let escaped = StorageLayout.escaped(id)
        #expect(StorageLayout.unescaped(escaped)?.utf8.elementsEqual(id.utf8) == true)
        check(escaped.utf8.allSatisfy { $0 < 0x80 && $0 > 0x20 && !":{}".utf8.contains($0) })
        #expect(Holder(id: Holder.customer(id).id) == .customer(id))
        #expect(Holder(id: Holder.unclaimed(id).id) == .unclaimed(id))
    }

    @Test func noCustomerPassesForAnUnclaimedLineage() {
        #expect(Holder.customer("unclaimed:1000").id != Holder.unclaimed("1000").id)
    }

    @Test("Invariant 7: sandbox and production have different keys") func sandboxAndProductionHaveDifferentKeys() {
        let app = TestApp()
        #expect(app.key(anna, .sandbox) != app.key(anna))
        #expect(app.key(anna, .sandbox).path != app.key(anna).path)
        #expect(StorageLayout.locator(of: app.lineage("1", .sandbox)) != StorageLayout.locator(of: app.lineage("1")))
    }

    @Test func aCustomersIdThatIsAUUIDIsTakenInLowerCase() {
        let app = TestApp()
        #expect(app.key(anna.uppercased()) == app.key(anna))
        #expect(app.key("Anna") != app.key("anna"))
    }

    @Test func idsThatLookTheSameButHaveOtherBytesAreDifferentCustomers() {
        let app = TestApp()
        #expect(app.key("e\u{301}") != app.key("\u{e9}"))
    }

    @Test func aStoreOfAnotherLayoutIsRefused() async throws {
        try await RedisServer.withOwn { server in
            try await server.cli("SET", "hf:{p00}:layout", "1 128 abc")
            try await withRedis(server) { redis in
                let store = LineageStore(redis: redis)
                await #expect(throws: StoreError.wrongLayout(found: "1 128 abc")) { try await store.prepare() }
                let app = TestApp()
                await #expect(throws: StoreError.wrongLayout(found: "1 128 abc")) {
                    _ = try await store.apply(app.period())
                }
            }
        }
    }
}
