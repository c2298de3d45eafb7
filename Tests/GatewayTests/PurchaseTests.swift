import AppStore
import CacheTier
import Entitlements
import HTTP
import JSON
import Redis
import Testing
import Time

@testable import Gateway

@Suite("Posted purchases", .timeLimit(.minutes(6))) struct PurchaseTests {
    private let sender = Result { try Sender.trusted.get() }
    private let away = StoreError.redis(RedisError(.unreachable, "told to fail"))

    private func desk(
        claimLimit: Duration = .seconds(20), _ body: (PurchaseDesk, Sender) async throws -> Void
    ) async throws {
        let desk = try PurchaseDesk(claimLimit: claimLimit)
        defer { desk.end() }
        try await body(desk, sender.get())
    }

    @Test("Invariant 1: 200 means that what was decided lies in the queue, with all that Apple signed")
    func whatIsDecidedIsDurable() async throws {
        try await desk { desk, sender in
            let transactions = [try sender.transaction("1"), try sender.transaction("2", original: "1")]
            let answer = try await desk.post(transactions + [try sender.transaction("9", token: "x")])
            #expect(answer.status == 200)
            #expect(answer.decisions == ["claimed", "claimed"])
            #expect(answer.json["environment"]?.string == "sandbox")
            #expect(answer.json["customer"]?.string == "anna")
            #expect(answer.headers["Correlation-ID"] == "call-7")
            let stored = try #require(desk.broker.stored.first)
            #expect(desk.broker.stored.count == 1 && desk.spool.stored.isEmpty)
            #expect(stored.destination == .intake)
            #expect(stored.headers["kind"] == "purchases")
            #expect(stored.headers["app"] == "demo" && stored.headers["environment"] == "sandbox")
            #expect(stored.headers["correlation"] == "call-7")
            let message = try #require(try desk.messages.first)
            #expect(message.customer == "anna" && !message.isForced)
            #expect(Array(message.posted.signedTransactions.prefix(2)) == transactions)
            #expect(message.decisions.map(\.originalTransactionID) == ["1", "9"])
            #expect(message["1"]?.claim?.customer == "anna")
            #expect(
                desk.count("holdfast_purchases_total", ["app": "demo", "decision": "claimed", "reason": ""]) == 2)
        }
    }

    @Test("Invariant 1: with the broker away the spool has it; with the spool away too nothing is promised")
    func theSpoolStandsIn() async throws {
        try await desk { desk, sender in
            desk.broker.refuse()
            #expect(try await desk.post([try sender.transaction("1")]).status == 200)
            #expect(desk.spool.stored.first?.headers["kind"] == "purchases")
            desk.spool.refuse()
            let answer = try await desk.post([try sender.transaction("1")])
            #expect(answer.status == 503)
            #expect(answer.problem == "cannot-store")
            #expect(answer.headers["Retry-After"] != nil)
            #expect(desk.count("holdfast_purchases_unstored_total", ["app": "demo"]) == 1)
        }
    }

    enum Absence: CaseIterable { case unreachable, failing }

    @Test("Redis away: durable and undecided, and said so", arguments: Absence.allCases)
    func withoutTheStoreItIsPending(absence: Absence) async throws {
        try await desk { desk, sender in
            switch absence {
            case .unreachable: desk.store.goAway()
            case .failing: desk.store.fail(away)
            }
            let answer = try await desk.post([try sender.transaction("1")])
            #expect(answer.status == 202)
            #expect(answer.decisions == ["pending"])
            // Nobody was ever heard from, and that is not "has nothing".
            #expect(answer.json["entitlements"] == nil)
            #expect(answer.json["service"]?["level"]?.string == "B")
            #expect(answer.json["service"]?["asOf"]?.isNull == true)
            #expect(answer.headers["Holdfast-Service-Level"] == "B")
            let message = try #require(try desk.messages.first)
            #expect(message.decisions.isEmpty && message.posted.signedTransactions.count == 1)
            #expect(try await desk.post([try sender.transaction("1")], query: "dryRun=true").status == 503)
        }
    }

    @Test func aStoreThatIsSilentIsNotWaitedForAndWhatItSaidInTimeCounts() async throws {
        try await desk(claimLimit: .seconds(5)) { desk, sender in
            desk.store.getStuck(at: "2")
            let answer = try await desk.post([try sender.transaction("1"), try sender.transaction("2")])
            #expect(answer.status == 202)
            #expect(answer.decisions == ["claimed", "pending"])
            #expect(try desk.messages.first?.decisions.map(\.originalTransactionID) == ["1"])
        }
    }

    @Test("What stays with somebody else is refused without naming anybody, and what Apple signed is kept")
    func refusalsNameNobody() async throws {
        try await desk { desk, sender in
            desk.store.decide(.refused(.heldByAnother), about: "1")
            let answer = try await desk.post([
                try sender.transaction("1", token: "0000000b-0000-4000-8000-00000000000b")
            ])
            #expect(answer.status == 409)
            #expect(answer.problem == "claim-refused")
            #expect(answer.json["code"]?.string == "heldByAnother")
            #expect(answer.json["service"]?["level"]?.string == "S")
            #expect(answer.json["service"]?["source"]?.string == "redis")
            #expect(answer.decisions == ["refused"])
            #expect(!answer.text.contains("0000000b"))
            #expect(try desk.messages.first?["1"]?.refusal == .heldByAnother)
            let mixed = try await desk.post([try sender.transaction("1"), try sender.transaction("2")])
            #expect(mixed.status == 200)
            #expect(mixed.decisions == ["refused", "claimed"])
            #expect(
                desk.count(
                    "holdfast_purchases_total", ["app": "demo", "decision": "refused", "reason": "heldByAnother"]) == 2)
        }
    }

    @Test func aClaimTakenFromSomebodyDoesNotSayFromWhom() async throws {
        try await desk { desk, sender in
            let claim = ClaimFact(customer: "anna", claimedAt: Timestamp(milliseconds: 5), transactionID: "1")
            desk.store.decide(.accepted(claim, from: ["bertha"]), about: "1")
            desk.store.decide(.alreadyTheirs, about: "2")
            let answer = try await desk.post([try sender.transaction("1"), try sender.transaction("2")])
            #expect(answer.decisions == ["claimed", "alreadyYours"])
            #expect(!answer.text.contains("bertha"))
            #expect(try desk.messages.first?["1"]?.from == ["bertha"])
        }
    }

    @Test func aDryRunSaysWhatWouldBeAndWritesNothing() async throws {
        try await desk { desk, sender in
            desk.store.decide(.refused(.stillActive), about: "1")
            let answer = try await desk.post(
                [try sender.transaction("1"), try sender.transaction("2")], query: "dryRun=true")
            #expect(answer.status == 200)
            #expect(answer.json["dryRun"]?.bool == true)
            #expect(answer.json["service"]?["level"]?.string == "S")
            #expect(answer.headers["Holdfast-Service-Level"] == "S")
            #expect(answer.decisions == ["refused", "claimed"])
            #expect(desk.broker.stored.isEmpty && desk.spool.stored.isEmpty)
            #expect(desk.store.calls.map(\.writes) == [false, false])
        }
    }

    @Test func forceNeedsAnAdministrator() async throws {
        try await desk { desk, sender in
            let body = [try sender.transaction("1")]
            let refused = try await desk.post(body, query: "force=true")
            #expect(refused.status == 403)
            #expect(refused.problem == "missing-scope")
            #expect(try await desk.post(body, query: "force=false").status == 200)
            let forced = try await desk.post(body, query: "force=true", key: "admin-admin-admin-admin")
            #expect(forced.status == 200)
            #expect(desk.store.calls.map(\.isForced) == [false, true])
            #expect(try desk.messages.map(\.isForced) == [false, true])
        }
    }

    @Test("Only a key with the scope write for the app may post, and nobody else learns anything")
    func scopesAreKept() async throws {
        try await desk { desk, sender in
            let body = Array(#"{"signedTransactions":["\#(try sender.transaction("1"))"]}"#.utf8)
            for (key, status) in [
                (nil, 401), ("nobody-nobody-nobody", 401), ("reader-reader-reader", 403),
                ("support-support-support", 403), ("other-other-other-other", 403),
            ] as [(String?, Int)] {
                #expect(try await desk.post(body: body, key: key).status == status)
            }
            let unknown = try await desk.post(body: body, app: "nobody")
            #expect(unknown.status == 404)
            #expect(try await desk.post(body: body, customer: "a%00b").status == 400)
            let get = try await desk.send("GET", "/v1/apps/demo/customers/anna/transactions", key: nil)
            #expect(get.status == 405)
            #expect(get.headers["Allow"] == "POST")
            #expect(desk.store.calls.isEmpty && desk.broker.stored.isEmpty)
        }
    }

    @Test("Invariant 6: one transaction that is not Apple's or not the app's, and nothing of the request is taken in")
    func nothingOfABadRequestIsTakenIn() async throws {
        try await desk { desk, sender in
            let good = try sender.transaction("1")
            let forged = try await desk.post([good, Sender.stranger.get().transaction("2")])
            #expect(forged.status == 422)
            #expect(forged.problem == "refused-transaction")
            #expect(forged.json["field"]?.string == "signedTransactions[1]")
            #expect(forged.json["code"]?.string == "notTrusted")
            let foreign = try await desk.post([try sender.transaction("2", bundle: "com.example.other"), good])
            #expect(foreign.json["code"]?.string == "wrongApp")
            #expect(foreign.json["field"]?.string == "signedTransactions[0]")
            let kind = try await desk.post([good], renewals: [good])
            #expect(kind.json["field"]?.string == "signedRenewalInfos[0]")
            let future = try await desk.post([try sender.transaction("3", signedDate: .init(milliseconds: 1 << 45))])
            #expect(future.status == 422)
            #expect(desk.store.calls.isEmpty && desk.broker.stored.isEmpty)
            #expect(
                desk.count("holdfast_purchases_rejected_total", ["app": "demo", "reason": "notTrusted"]) == 1)
        }
    }

    @Test("Invariant 7: what is posted says its environment, and the query may not say another")
    func environmentsDoNotMix() async throws {
        try await desk { desk, sender in
            let sandbox = try sender.transaction("1")
            let production = try sender.transaction("2", environment: "Production")
            #expect(try await desk.post([production]).json["environment"]?.string == "production")
            #expect(try await desk.post([sandbox], query: "environment=sandbox").status == 200)
            let contradiction = try await desk.post([sandbox], query: "environment=production")
            #expect(contradiction.status == 422)
            #expect(contradiction.json["code"]?.string == "wrongEnvironment")
            #expect(try await desk.post([sandbox, production]).json["field"]?.string == "signedTransactions[1]")
            #expect(desk.broker.stored.map(\.headers["environment"]) == ["production", "sandbox"])
        }
    }

    @Test("Malformed bodies are refused by the name of what is wrong")
    func malformedBodiesAreRefused() async throws {
        try await desk { desk, _ in
            let deep = String(repeating: "[", count: 200_000)
            let many = Array(repeating: "\"a\"", count: 51).joined(separator: ",")
            let bodies: [(String, String?)] = [
                ("", nil), ("null", nil), ("{\"signedTransactions\":[\"\u{0}\"]}", nil), (deep, nil),
                ("{\"signedTransactions\":\(deep)", nil), ("{\"signedTransactions\":[\(many)]}", "signedTransactions"),
                ("{\"signedTransactions\":[\"a\"],\"forced\":true}", "forced"),
                ("{\"signed\\u0054ransactions\":[1]}", "signedTransactions[0]"),
                ("{\"ſignedTransactions\":[\"a\"]}", "ſignedTransactions"),
                ("{\"signedTransactions\":[\"\(String(repeating: "é", count: 40_000))\"]}", "signedTransactions[0]"),
            ]
            for (body, field) in bodies {
                let answer = try await desk.post(body: Array(body.utf8))
                #expect(answer.status == 400)
                #expect(answer.problem == "malformed-request")
                #expect(answer.json["field"]?.string == field)
            }
            let tooLarge = [UInt8](repeating: 0x20, count: (1 << 20) + 1)
            #expect(try await desk.post(body: tooLarge).status == 413)
            #expect(try await desk.post(body: [0xFF, 0xFE, 0x7B]).status == 400)
            let unknown = try await desk.post(body: [], query: "dryrun=true")
            #expect(unknown.json["parameter"]?.string == "dryrun")
            #expect(try await desk.post(body: [], query: "dryRun=yes").problem == "bad-parameter")
            #expect(desk.store.calls.isEmpty && desk.broker.stored.isEmpty)
        }
    }

    @Test("Random bytes and broken bodies never do more than be refused")
    func randomBodiesAreRefused() async throws {
        try await desk { desk, sender in
            let whole = Array(
                #"{"signedTransactions":["\#(try sender.transaction("1"))"],"signedRenewalInfos":[]}"#.utf8)
            var random = SystemRandomNumberGenerator()
            for _ in 0..<300 {
                var body = whole
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<body.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: body[place] = UInt8.random(in: .min ... .max, using: &random)
                    case 1: body.removeSubrange(place..<min(body.count, place + 9))
                    default: body.insert(contentsOf: [0x5B, 0x22, 0x7B], at: place)
                    }
                    if body.isEmpty { body = [0x7B] }
                }
                let status = try await desk.post(body: body).status
                // A changed bit that does not matter, in white space or the last digits of base64, may pass.
                #expect([200, 400, 422].contains(status))
            }
            #expect(Set(desk.store.calls.map(\.lineage)).subtracting(["1"]).isEmpty)
        }
    }
}
