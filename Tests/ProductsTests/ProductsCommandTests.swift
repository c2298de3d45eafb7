import CacheTier
import Entitlements
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// `holdfast products`, as an operator runs it.
@Suite struct ProductsCommandTests {
    /// `old` is dropped, `basic` gives `extra` besides.
    private static let richer =
        #""basic": {"entitlements": ["basic", "extra"]}, "pro": {"entitlements": ["basic", "pro"]}"#

    @Test func aMapIsCheckedThenPublishedAndCounts() async throws {
        try await Shop.with { shop in
            try await shop.sell("basic", to: 3, from: 1)
            try await shop.sell("old", to: 2, from: 11)
            try await shop.sell("basic", to: 4, from: 21, in: .sandbox)
            let none = try await shop.products("list")
            #expect(none.status == 0)
            #expect(none.output.contains("the map of the settings counts, with 3 products"))

            let file = try shop.map(Self.richer)
            let checked = try await shop.products("check", file, "--json", "--samples", "2")
            #expect(checked.status == 1, "\(checked.output)")
            #expect(checked["refused"]?.bool == true)
            #expect(checked["changes", "removed"]?.array == [.string("old")])
            #expect(checked["environments", "production", "customers"]?.int64 == 5)
            #expect(checked["environments", "production", "gained"]?.int64 == 3)
            #expect(checked["environments", "production", "lost"]?.int64 == 2)
            #expect(checked["environments", "production", "dropped", "old"]?.int64 == 2)
            #expect(checked["environments", "production", "unmapped", "after"]?.int64 == 2)
            let gain = checked["environments", "production", "entitlements", "extra", "gain"]
            #expect(gain?["customers"]?.int64 == 3)
            #expect(gain?["samples"]?.array?.count == 2)
            #expect(checked["environments", "sandbox", "customers"]?.int64 == 4)
            #expect(checked["environments", "sandbox", "gained"]?.int64 == 4)
            #expect(checked["environments", "sandbox", "lost"]?.int64 == 0)

            let refused = try await shop.products("publish", file)
            #expect(refused.status == 1)
            #expect(refused.output.contains("drops products that 2 lineages carry"))
            #expect(try await shop.products("list", "--json")["current"]?.int64 == 0)

            let published = try await shop.products(
                "publish", file, "--allow-unmapped", "--by", "anna", "--comment", "extra for all", "--json")
            #expect(published.status == 0, "\(published.output)")
            #expect(published["published"]?.int64 == 1)
            let told = published["recomputed"]?.array?.first
            #expect(told?["done"]?.bool == true)
            #expect(told?["production"]?["changed"]?.int64 == 5)
            #expect(told?["sandbox"]?["changed"]?.int64 == 4)

            let list = try await shop.products("list")
            #expect(list.output.contains("by anna: extra for all"))
            #expect(list.output.contains("told of all whose answer changed: production 5 of 5, sandbox 4 of 4"))
            let explained = try await shop.run("explain", [Shop.customer(1), "--entitlement", "extra", "--json"])
            #expect(explained.status == 0, "\(explained.output)")
            #expect(explained["productMapVersion"]?.string == "1")

            // What is shown can be published again, and says the same.
            let shown = try await shop.products("show")
            let again = try shop.folder.write(shown.output, to: "again.json")
            let same = try await shop.products("publish", again)
            #expect(same.status == 0)
            #expect(same.output.contains("Version 1 says the same: nothing to publish."))
            #expect(try await shop.products("show", "settings").output.contains(#""old":{"entitlements":["basic"]}"#))
            let back = try await shop.products("diff", "1", "0")
            #expect(back.output.contains("+ old  gives basic"))
            #expect(back.output.contains("~ basic  gives basic, extra → gives basic"))
            #expect(try await shop.products("show", "7").status == 1)

            // Those who have what was dropped are to be seen, until a map knows it again.
            let unmapped = try await shop.products("unmapped", "--json")
            #expect(unmapped.status == 1)
            #expect(unmapped["unmapped"]?.array?.first?["productId"]?.string == "old")
            let mended = try shop.map(Self.richer + #", "old": {"entitlements": []}"#)
            #expect(try await shop.products("publish", mended).status == 0)
            #expect(try await shop.products("unmapped").status == 0)
        }
    }

    @Test func aPublisherThatWasKilledBeforeItToldAnybodyIsSucceeded() async throws {
        try await Shop.with { shop in
            try await shop.sell("basic", to: 7, from: 1)
            let file = try shop.map(Self.richer + #", "old": {"entitlements": ["basic"]}"#)
            let publisher = try ChildProcess.holdfast(
                ["products", "publish", file, "--settings", shop.slowSettings], log: shop.folder.file("log"))
            let store = ProductMapStore(redis: shop.client)
            let isPublished = try await eventually { try await store.current(of: AppID(shop.id))?.version == 1 }
            #expect(isPublished, "\(publisher.log)")
            await publisher.kill()
            let left = try await shop.products("list")
            #expect(left.output.contains("told of 0 %; go on with holdfast products recompute"), "\(left.output)")
            let recomputed = try await shop.products("recompute", "--json")
            #expect(recomputed.status == 0, "\(recomputed.output)")
            #expect(recomputed["recomputed"]?.array?.first?["production"]?["changed"]?.int64 == 7)
            let nothing = try await shop.products("recompute")
            #expect(nothing.output.contains("Nothing is left to be told."))
        }
    }

    @Test func aRunningConsumerTellsWhatAKilledPublisherDidNot() async throws {
        try await Shop.with { shop in
            try await shop.sell("basic", to: 3, from: 1)
            let file = try shop.map(Self.richer + #", "old": {}"#)
            let publisher = try ChildProcess.holdfast(
                ["products", "publish", file, "--settings", shop.slowSettings], log: shop.folder.file("log"))
            let store = ProductMapStore(redis: shop.client)
            let isPublished = try await eventually { try await store.current(of: AppID(shop.id))?.version == 1 }
            #expect(isPublished, "\(publisher.log)")
            await publisher.kill()
            let consumer = try ChildProcess.holdfast(
                ["consumer", "--settings", shop.settings], log: shop.folder.file("consumer.log"))
            let isDone = try await eventually(within: .seconds(60)) {
                try await store.versions(of: AppID(shop.id)).first?.recomputation?.isDone == true
            }
            #expect(isDone, "\(consumer.log)")
            #expect(await consumer.terminate() == 0)
            #expect(consumer.log.contains("everybody was told of another product map"))
        }
    }

    @Test("Invariant 5: a gateway that starts without Redis goes by the last map it saw")
    func aGatewayThatStartsWithoutRedisGoesByTheLastMapItSaw() async throws {
        try await RedisServer.withOwn { server in
            try await Shop.with(redis: server) { shop in
                func gateway(_ log: String) throws -> ChildProcess {
                    try ChildProcess.holdfast(["gateway", "--settings", shop.settings], log: shop.folder.file(log))
                }
                let first = try gateway("first.log")
                let file = try shop.map(Self.richer)
                #expect(try await shop.products("publish", file).status == 0)
                // Without a restart.
                let follows = try await eventually { first.log.contains("another product map counts") }
                #expect(follows, "\(first.log)")
                let folder = shop.folder.file("spool/maps/\(shop.id).map")
                let isKept = try await eventually { (try? FileFacts(of: folder)) != nil }
                #expect(isKept, "\(first.log)")
                await first.kill()
                try await server.kill()
                let second = try gateway("second.log")
                let isBack = try await eventually { second.log.contains("the last product map seen counts") }
                #expect(isBack, "\(second.log)")
                await second.kill()
            }
        }
    }

    @Test func whoHasSeenAnotherVersionIsRefused() async throws {
        try await Shop.with { shop in
            let (one, two) = (
                try shop.map(Self.richer, to: "one.json"), try shop.map(#""pro": {}"#, to: "two.json")
            )
            #expect(try await shop.products("publish", one, "--expect", "0").status == 0)
            let late = try await shop.products("publish", two, "--expect", "0")
            #expect(late.status == 1)
            #expect(late.output.contains("refused: version 1 counts, not 0"))
            #expect(try await shop.products("publish", two, "--expect", "1").status == 0)
        }
    }

    @Test func aFileThatIsNoMapIsSaidToBeNoneWithWhatWasMeant() async throws {
        try await Shop.with { shop in
            let file = try shop.map(#""pro": {"entitlments": ["pro"]}"#)
            for verb in ["check", "publish"] {
                let result = try await shop.products(verb, file)
                #expect(result.status == 1)
                #expect(result.output.contains("products.pro.entitlments: there is no such setting; did you mean"))
            }
        }
    }

    @Test func withoutRedisItSaysSo() async throws {
        try await RedisServer.withOwn { server in
            try await Shop.with(redis: server) { shop in
                let file = try shop.map(Self.richer)
                try await server.kill()
                for arguments in [["list"], ["check", file], ["publish", file], ["recompute"]] {
                    let result = try await shop.run("products", arguments)
                    #expect(result.status == 3, "\(arguments): \(result.output)")
                }
            }
        }
    }

    @Test func aStoreKitFileBecomesAMapToBeFilledIn() async throws {
        try await Shop.with { shop in
            let result = try await shop.products("import", "\(Command.packageFolder)/ops/demo.storekit")
            #expect(result.status == 0, "\(result.output)")
            #expect(result.output.contains("// new: say what it gives"))
            #expect(result.output.contains(#""pro":{"entitlements":["basic","pro"]}"#))
            let document = try ProductMapDocument(parsing: Array(result.output.utf8))
            #expect(document.products.count > 3)
        }
    }

    @Test(
        arguments: [
            ([], "products takes one of list"), (["publsh", "x"], "did you mean publish?"),
            (["check"], "products check is told too little"), (["list", "x"], "x is one word too many"),
            (["list", "--comment", "x"], "--comment does not go with list"),
            (["list", "--app", "nobody"], "the settings have no app nobody"),
        ])
    func aWordThatMeansNothingIsNamed(_ arguments: [String], _ sentence: String) async throws {
        try await Shop.with { shop in
            let result = try await shop.run("products", arguments)
            #expect(result.status == 2)
            #expect(result.output.contains(sentence), "\(result.output)")
        }
    }
}
