import AppStore
import Entitlements
import JSON
import Testing
import Time

/// What backends post for their customers.
@Suite struct PurchaseTests {
    let forge: Forge
    let app = AppID("demo")

    init() throws { forge = try Forge() }

    private func verified(
        _ transactions: [String], _ renewals: [String] = [], environment: StoreEnvironment? = nil
    ) throws -> VerifiedPurchases {
        try PurchaseVerifier(try forge.verifier()).verify(
            try PostedPurchases(signedTransactions: transactions, signedRenewalInfos: renewals),
            for: Forge.identity, app: app, environment: environment, now: Forge.now)
    }

    private func failure(
        _ transactions: [String], _ renewals: [String] = [], environment: StoreEnvironment? = nil
    ) throws -> PurchaseFailure? {
        do {
            _ = try verified(transactions, renewals, environment: environment)
            return nil
        } catch let failure as PurchaseFailure { return failure }
    }

    private func mistake(_ body: String) -> PostedPurchases.Mistake? {
        do throws(PostedPurchases.Mistake) {
            _ = try PostedPurchases(json: Array(body.utf8))
            return nil
        } catch { return error }
    }

    @Test func aBodyIsReadAsItWasPosted() throws {
        let body = #"{"signedTransactions": ["a.b.c", "d\u002ee"], "signedRenewalInfos": ["r"]}"#
        let posted = try PostedPurchases(json: Array(body.utf8))
        #expect(posted.signedTransactions == ["a.b.c", "d.e"])
        #expect(posted.signedRenewalInfos == ["r"])
    }

    @Test(
        "A body that is none of ours is refused by the name of what is wrong",
        arguments: [
            ("", nil), ("[]", nil), ("{", nil), ("\u{FEFF}{}", nil), ("{\"signedTransactions\":[\"a\"]} x", nil),
            ("{\"signedTransactions\":[\"a\"],\"signedTransactions\":[\"b\"]}", nil),
            ("{\"signedTransactions\":[[[[[[1]]]]]]}", nil), ("{\"signedTransactions\":[\"\\ud800\"]}", nil),
            ("{}", "signedTransactions"), ("{\"signedTransactions\":[]}", "signedTransactions"),
            ("{\"signedTransactions\":\"a\"}", "signedTransactions"),
            ("{\"signedTransactions\":null}", "signedTransactions"),
            ("{\"signedTransactions\":[\"a\",1]}", "signedTransactions[1]"),
            ("{\"signedTransactions\":[\"a\"],\"signedRenewalInfos\":[null]}", "signedRenewalInfos[0]"),
            ("{\"signedTransaction\":[\"a\"]}", "signedTransaction"),
            ("{\"signedTransactions\":[\"a\"],\"𝕏é\":{\"b\":[true]}}", "𝕏é"),
        ] as [(String, String?)])
    func malformedBodiesAreRefused(body: String, field: String?) throws {
        let found = try #require(mistake(body))
        #expect(found.field == field)
        #expect(!found.sentence.isEmpty)
    }

    @Test("Invariant 10: a body has at most fifty of each, and none that is larger than what Apple signs")
    func aBodyIsBounded() {
        func body(_ count: Int, bytes: Int = 1) -> String {
            let text = "\"\(String(repeating: "a", count: bytes))\""
            return "{\"signedTransactions\":[\(Array(repeating: text, count: count).joined(separator: ","))]}"
        }
        #expect(mistake(body(50)) == nil)
        #expect(mistake(body(51))?.field == "signedTransactions")
        #expect(mistake(body(200_000))?.field == "signedTransactions")
        #expect(mistake(body(1, bytes: 65_537))?.field == "signedTransactions[0]")
        #expect(mistake(body(1, bytes: 65_536)) == nil)
        let deep = String(repeating: "[", count: 100_000)
        #expect(mistake("{\"signedTransactions\":\(deep)")?.field == nil)
        #expect(mistake("{\"signedTransactio\":[\"a\"]}")?.sentence.contains("signedTransactions") == true)
    }

    @Test func whatIsPostedIsSortedByLineage() throws {
        let first = try forge.sign(Forge.transaction())
        let later = try forge.sign(
            Forge.transaction([
                "transactionId": .string("23457"), "purchaseDate": Forge.date(Forge.now + .seconds(60)),
            ]))
        let other = try forge.sign(
            Forge.transaction(["originalTransactionId": .string("9"), "transactionId": .string("9")]))
        let found = try verified([later, other, first, later, first], [forge.sign(Forge.renewalInfo())])
        #expect(found.environment == .production)
        #expect(found.lineages.map(\.id.originalTransactionID) == ["12345", "9"])
        #expect(found.lineages[0].observations.map(\.transaction?.transactionID) == ["23457", "23456"])
        #expect(found.lineages[0].observations.map(\.renewal?.autoRenewStatus) == [1, nil])
        #expect(found.lineages[0].observations.map(\.source) == [.device, .device])
        #expect(found.lineages[0].transaction.transactionID == "23457")
        #expect(found.lineages[1].observations.count == 1)
    }

    @Test("Invariant 6: one that nobody vouches for, or that is not this app's, spoils the whole request by its place")
    func oneBadPartSpoilsAll() throws {
        let good = try forge.sign(Forge.transaction())
        let forged = try failure([good, Forge().sign(Forge.transaction())])
        #expect(forged?.place.description == "signedTransactions[1]")
        #expect(forged?.failure.code == .notTrusted)
        let foreign = try failure([forge.sign(Forge.transaction(["bundleId": .string("com.other")]))])
        #expect(foreign?.failure.code == .wrongApp)
        let orphan = try failure([good], [forge.sign(Forge.renewalInfo(["originalTransactionId": .string("9")]))])
        #expect(orphan?.place.description == "signedRenewalInfos[0]")
        #expect(orphan?.failure.code == .disagreement)
        #expect(try failure([good], [good])?.failure.code == .wrongKind)
        #expect(try failure(["a.b.c"])?.failure.code == .malformed)
    }

    @Test("Invariant 7: purchases of two environments are not posted together, nor under the other's name")
    func environmentsStayApart() throws {
        let production = try forge.sign(Forge.transaction())
        let sandbox = try forge.sign(Forge.transaction(["environment": .string("Sandbox")]))
        #expect(try verified([sandbox]).environment == .sandbox)
        #expect(try failure([production, sandbox])?.failure.code == .wrongEnvironment)
        #expect(try failure([sandbox], environment: .production)?.failure.code == .wrongEnvironment)
        #expect(try verified([sandbox], environment: .sandbox).lineages.first?.id.environment == .sandbox)
    }

    @Test func aMessageComesBackAsItWas() throws {
        let posted = try PostedPurchases(signedTransactions: ["a", "b"], signedRenewalInfos: ["c"])
        let claim = ClaimFact(customer: "é \"", claimedAt: Forge.now, transactionID: "1", over: "x")
        let message = PurchaseMessage(
            customer: "é \"", environment: .sandbox, receivedAt: Forge.now, isForced: true, posted: posted,
            decisions: [
                .init(originalTransactionID: "1", changed: true, claim: claim, from: ["x", "y"]),
                .init(originalTransactionID: "2", changed: false, refusal: .heldByAnother),
            ])
        let read = try PurchaseMessage(decoding: message.encoded())
        #expect(read == message)
        #expect(read.id == message.id)
        #expect(read["2"]?.refusal == .heldByAnother)
        #expect(read["3"] == nil)
        var nobodys = message
        nobodys.customer = ""
        var unreadable = message
        unreadable.decisions[0].claim?.customer = "a\nb"
        for wrong in [nobodys, unreadable] {
            #expect(throws: PurchaseMessage.Unreadable.self) { try PurchaseMessage(decoding: wrong.encoded()) }
        }
        for broken in ["", "{}", "{\"customer\":\"a\"}"] {
            #expect(throws: PurchaseMessage.Unreadable.self) { try PurchaseMessage(decoding: Array(broken.utf8)) }
        }
    }
}
