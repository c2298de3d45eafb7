import AppStore
import Broker
import CacheTier
import Entitlements
import Glibc
import JSON
import TestSupport
import Testing
import Time

@Suite("holdfast replay", .timeLimit(.minutes(6))) struct ReplayCommandTests {
    private func first(_ list: [JSONValue], _ member: String, _ value: String) throws -> JSONValue {
        let found = list.filter { $0[member]?.string == value }
        return try #require(found.first)
    }

    @Test func theLedgerRebuildsAnEmptyRedisByteByByte() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(60)
            try await stage.send(
                try Forge.notification("REFUND", lineage: "4", signed: Forge.now + .seconds(9), revoked: Forge.now))
            try await stage.send(try Forge.testNotification())
            try await stage.send(try Forge.notification(lineage: "1"), app: "another")
            try await stage.consume(63)
            let before = try await stage.records(60)
            #expect(before.count == 60)

            let equal = try await stage.replay()
            #expect(equal.status == 0, "\(equal.output)")
            #expect(equal.output.contains("60 of 60 lineages are equal, none differ."))
            #expect(equal.output.contains("all that ever came in"))
            #expect(equal.output.contains("unknownApp: 1"))

            try await stage.server.cli("FLUSHALL")
            let lost = try await stage.replayJSON("--compare", "live")
            #expect(lost.status == 1)
            #expect(lost.json["live"]?["onlyInLedger"]?.int64 == 60)

            let refused = try await stage.replay("--apply")
            #expect(refused.status == 2)
            let applied = try await stage.replayJSON("--apply", "--yes")
            #expect(applied.status == 0)
            #expect(applied.json["applied"]?["changed"]?.int64 == 61)
            #expect(try await stage.records(60) == before)
            let again = try await stage.replayJSON("--apply", "--yes")
            #expect(again.json["applied"]?["changed"]?.int64 == 0)
            #expect(try await stage.replay().status == 0)
        }
    }

    @Test func whatWasPlantedByHandIsFoundAndNamed() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(20)
            try await stage.consume(20)
            // A refund that nobody sent, a lineage that nobody bought, and one that somebody removed.
            try await stage.plant(
                FoldTests.observation("3", FoldTests.fact("3", signed: Forge.now + .seconds(5), revoked: Forge.now)))
            try await stage.plant(FoldTests.observation("planted"))
            let keys = try await stage.server.cli("KEYS", "hf:*:demo:p:*").split(separator: "\n").map(String.init)
            func key(_ end: String) throws -> String {
                let found = keys.filter { $0.hasSuffix(end) }
                return try #require(found.first)
            }
            let holder = try key(":holder:\(Stage.customer(6))")
            let locator = try key(":lineage:6")
            try await stage.server.cli("DEL", holder, locator)
            // And one that lies where nobody looks after it.
            let stray = try key(":lineage:8")
            try await stage.server.cli("DEL", stray)

            let result = try await stage.replayJSON("--at", (Forge.now + .seconds(60)).rfc3339)
            #expect(result.status == 1)
            let live = try #require(result.json["live"])
            #expect(live["equal"]?.int64 == 17)
            #expect(live["compared"]?.int64 == 21)
            #expect(live["differs"]?.int64 == 1)
            #expect(live["onlyLive"]?.int64 == 1)
            #expect(live["onlyInLedger"]?.int64 == 2)
            #expect(live["stray"]?.int64 == 1)
            let differences = live["differences"]?.array ?? []
            let refunded = try first(differences, "kind", "differs")
            #expect(refunded["originalTransactionId"]?.string == "3")
            #expect(refunded["liveLacks"]?.bool == false && refunded["liveHasMore"]?.bool == true)
            let members = refunded["members"]?.array ?? []
            let revoked = try first(members, "member", "revoked")
            #expect(revoked["fact"]?.string == "transaction 3")
            #expect(revoked["ledger"]?.isNull == true)
            #expect(revoked["live"]?.int64 == Forge.now.milliseconds)
            let answers = refunded["answers"]?.array ?? []
            let state = try first(answers, "member", "state")
            #expect(state["ledger"]?.string == "active" && state["live"]?.string == "revoked")

            let text = try await stage.replay()
            #expect(text.output.contains("demo production 3  differs: Redis has what the ledger lacks"))
            #expect(text.output.contains("demo production planted  only in Redis"))
            #expect(text.output.contains("demo production 6  only in the ledger"))

            // Applying the ledger mends what was taken away, and takes nothing that was added.
            try await stage.server.cli("DEL", try key(":holder:\(Stage.customer(8))"))
            #expect(try await stage.replay("--apply", "--yes").status == 0)
            let mended = try await stage.replayJSON()
            #expect(mended.json["live"]?["different"]?.int64 == 2)
        }
    }

    @Test func whatIsNotInThePartThatWasReadIsNotCalledDifferent() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(20)
            try await stage.consume(20)
            let later = Forge.now + .seconds(86_400)
            try await stage.send(try Forge.notification(lineage: "later", signed: later), receivedAt: later)
            try await stage.consume(1, at: later)
            for place in ["12", (later - .seconds(1)).rfc3339] {
                let part = try await stage.replayJSON("--from", place)
                #expect(part.status == 0)
                #expect(part.json["source"]?["whole"]?.bool == false)
                let older = part.json["live"]?["olderThanLedger"]?.int64 ?? 0
                #expect(older > 10)
                #expect(part.json["live"]?["equal"]?.int64 == 21 - older)
            }
            // What was received since should be in it.
            try await stage.plant(
                FoldTests.observation("planted", FoldTests.fact("planted", signed: later + .seconds(7200))))
            let planted = try await stage.replayJSON("--from", (later - .seconds(1)).rfc3339)
            #expect(planted.status == 1)
            #expect(planted.json["live"]?["different"]?.int64 == 1)
        }
    }

    @Test func anExportIsAsGoodAsTheLedger() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(20)
            try await stage.consume(20)
            let (export, one, two) = (
                stage.folder.file("export"), stage.folder.file("one"), stage.folder.file("two")
            )
            #expect(try await stage.replay("--export", export).status == 0)
            let again = try await stage.replay("--export", export)
            #expect(again.status == 2)
            #expect(again.output.contains("\(export) is there already; "), "\(again.output)")
            #expect(try await stage.replay("--export", export, "--overwrite").status == 0)
            let nowhere = try await stage.replay("--export", "/nowhere/export")
            #expect(nowhere.status == 2 && nowhere.output.contains("/nowhere/export: "), "\(nowhere.output)")
            #expect(!nowhere.output.contains("partial"))
            let live = try await stage.replay(export)
            #expect(live.status == 0, "\(live.output)")
            let at = Forge.now.rfc3339
            #expect(try await stage.replay("--out", one, "--at", at).status == 0)
            #expect(try await stage.replay(export, "--out", two, "--at", at).status == 0)
            func lineages(_ path: String) async throws -> Substring {
                let text = try await Command.run("/bin/cat", [path]).output
                return text.drop { $0 != "\n" }
            }
            #expect(try await lineages(one) == lineages(two))
            let same = try await stage.replay(export, "--against", one)
            #expect(same.status == 0, "\(same.output)")

            // What came since is not taken for a difference between two reducers.
            try await stage.send(try Forge.notification(lineage: "later"))
            let later = try await stage.replay("--against", one)
            #expect(later.status == 0, "\(later.output)")

            // Another reducer, that takes every subscription for lifetime.
            let other = try await Command.run("/bin/sed", ["s/Auto-Renewable Subscription/Non-Consumable/", one])
            try stage.folder.write(other.output, to: "other")
            let changed = try await stage.replayJSON("--against", stage.folder.file("other"))
            #expect(changed.status == 1)
            #expect(changed.json["state"]?["differs"]?.int64 == 20)
            let member = changed.json["state"]?["differences"]?.array?.first?["members"]?.array?.first
            #expect(member?["member"]?.string == "type")
            #expect(member?["there"]?.string == "Non-Consumable")
        }
    }

    @Test func killedInTheMiddleItIsDoneAgain() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(600)
            try await stage.consume(600)
            let before = try await stage.records(600)
            try await stage.server.cli("FLUSHALL")
            let process = try ChildProcess.holdfast(
                ["replay", "--settings", stage.folder.file("holdfast.json"), "--apply", "--yes", "--rate", "20"],
                log: stage.folder.file("log"))
            let hasBegun = try await eventually { try await stage.records(600).count > 20 }
            #expect(hasBegun)
            await process.kill()
            let part = try await stage.records(600).count
            #expect(part > 20 && part < 600)
            #expect(try await stage.replay("--apply", "--yes").status == 0)
            #expect(try await stage.records(600) == before)
            let equal = try await stage.replay()
            #expect(equal.status == 0, "\(equal.output)")
        }
    }

    @Test func interruptedItEndsInGoodOrderAndSaysSo() async throws {
        try await Stage.with { stage in
            try await stage.sendLineages(600)
            let process = try ChildProcess.holdfast(
                ["replay", "--settings", stage.folder.file("holdfast.json"), "--apply", "--yes", "--rate", "20"],
                log: stage.folder.file("log"))
            let hasBegun = try await eventually { try await stage.records(600).count > 20 }
            #expect(hasBegun)
            process.signal(SIGINT)
            let status = await process.end()
            #expect(status == 130)
            #expect(process.log.contains("Interrupted; applied so far: "))
        }
    }

    @Test func aCustomerIsExplainedByWhatWasKnownThen() async throws {
        try await Stage.with { stage in
            let customer = Stage.customer(1)
            let refundedAt = Forge.now + .seconds(3600)
            try await stage.send(try Forge.notification(lineage: "1", token: customer))
            try await stage.send(
                try Forge.notification(
                    "REFUND", lineage: "1", signed: refundedAt, token: customer, revoked: Forge.now + .seconds(60)),
                receivedAt: refundedAt)

            // Refunded by then, as is known today; but nobody knew.
            let then = (Forge.now + .seconds(1800)).rfc3339
            let known = try await stage.replay("--customer", customer, "--as-known-at", then, "--entitlement", "pro")
            #expect(known.status == 0, "\(known.output)")
            #expect(known.output.hasPrefix("Has pro until "))
            #expect(known.output.contains("This is what was known at \(then)."))
            let today = try await stage.replay("--customer", customer, "--at", then, "--entitlement", "pro")
            #expect(today.status == 1)
            #expect(today.output.hasPrefix("Does not have pro since "))
            let before = (Forge.now - .seconds(1)).rfc3339
            let nothing = try await stage.replay("--customer", customer, "--as-known-at", before)
            #expect(nothing.status == 1)
            #expect(nothing.output.hasPrefix("Has nothing: "))
            #expect(nothing.output.contains("The ledger begins at \(Forge.now.rfc3339), later than \(before): "))
            #expect(!nothing.output.contains("This is what was known"))
        }
    }

    @Test func thePastIsAnsweredByTheProductMapThatWasInForceThen() async throws {
        try await Stage.with { stage in
            let customer = Stage.customer(1)
            try await stage.send(try Forge.notification(lineage: "1", token: customer))
            func document(_ entitlements: String...) -> ProductMapDocument {
                ProductMapDocument(products: ["pro.month": .init(entitlements: Set(entitlements))])
            }
            let (early, late) = (Forge.now + .seconds(3600), Forge.now + .seconds(3 * 3600))
            func has(_ entitlement: String, at instant: Timestamp) async throws -> (Int32, String) {
                let known = try await stage.replay(
                    "--customer", customer, "--as-known-at", instant.rfc3339, "--entitlement", entitlement)
                return (known.status, known.output)
            }
            let without = try await has("pro", at: early)
            #expect(without.0 == 0, "\(without.1)")
            #expect(without.1.contains("The settings' product map of now was used: Redis has no published version"))

            let maps = ProductMapStore(redis: stage.redis)
            for (expected, map, instant) in [
                (UInt64(0), document("pro", "extra"), early), (1, document("pro", "late"), late),
            ] {
                let done = try await maps.publish(
                    map, for: Stage.app, expecting: expected, first: document("pro", "first"), by: "test", comment: "",
                    at: instant)
                #expect(done == .published(version: expected + 1))
            }
            for (instant, version, entitlement, lacking) in [
                (early - .seconds(1), 0, "first", "extra"), (early, 1, "extra", "first"),
                (late - .seconds(1), 1, "extra", "late"), (late, 2, "late", "extra"),
            ] {
                let (status, text) = try await has(entitlement, at: instant)
                #expect(status == 0, "\(text)")
                #expect(text.contains("Product map version \(version) was used, "), "\(text)")
                #expect(text.contains("the one in force at \(instant.rfc3339)."), "\(text)")
                #expect(try await has(lacking, at: instant).0 == 1)
            }
            let json = try await stage.replayJSON("--customer", customer, "--as-known-at", early.rfc3339)
            #expect(json.json["productMap"]?["version"]?.int64 == 1)
        }
    }

    @Test func aRefusedClaimIsNamedAndIsNotLeftOut() async throws {
        try await Stage.with { stage in
            try await stage.send(try Forge.notification(lineage: "1", token: Stage.customer(1)))
            let claim = PurchaseMessage(
                customer: Stage.customer(2), environment: .production, receivedAt: Forge.now,
                posted: try PostedPurchases(signedTransactions: [], signedRenewalInfos: []),
                decisions: [.init(originalTransactionID: "1", changed: false, refusal: .heldByAnother)])
            try await stage.send(claim.encoded(), headers: [PurchaseMessage.kindHeader: PurchaseMessage.kind])
            let file = stage.folder.file("state")
            let text = try await stage.replay("--out", file).output
            #expect(text.contains("1 claims that were refused: nothing to fold."), "\(text)")
            #expect(!text.contains("left out"), "\(text)")
            let all = try await stage.replayJSON("--out", file).json
            #expect(all["refusedClaims"]?.int64 == 1 && all["leftOut"]?.int64 == 0 && all["news"]?.int64 == 1)
            // Where another environment is asked for, it is left out.
            let other = try await stage.replayJSON("--out", file, "--environment", "sandbox").json
            #expect(other["refusedClaims"]?.int64 == 0 && other["leftOut"]?.int64 == 2)
        }
    }

    @Test func whatIsMissingIsNamedInTheExitCode() async throws {
        try await Stage.with { stage in
            try await stage.server.stop()
            try await stage.send(try Forge.notification(lineage: "1", token: Stage.customer(1)))
            let noRedis = try await stage.replay()
            #expect(noRedis.status == 3)
            // The ledger alone can answer for the past.
            let asked = try await stage.replay("--customer", Stage.customer(1), "--at", Forge.now.rfc3339)
            #expect(asked.status == 0, "\(asked.output)")
            #expect(try await stage.replay("--as-known-at", "2026").status == 2)
            #expect(try await stage.replay("--out", "a", "--against", "b").status == 2)
            #expect(try await stage.replay("nowhere", "--out", stage.folder.file("x")).status == 2)
            try await stage.server.start()
        }
        try await RedisServer.withOwn { redis in
            let folder = try TemporaryFolder("replay-nothing")
            let settings = """
                {
                    "apps": { "demo": { "bundleId": "com.example.demo", "appAppleId": 1, "products": {} } },
                    "broker": { "port": 1 }, "redis": { "port": \(redis.port) }, "spool": { "folder": "\(folder.path)" }
                }
                """
            try folder.write(settings, to: "holdfast.json")
            let result = try await Command.run(
                try ChildProcess.product("holdfast"), ["replay", "--settings", folder.file("holdfast.json")])
            #expect(result.status == 3, "\(result.output)")
        }
    }
}
