import AppStore
import Entitlements
import JSON
import Testing
import Time

/// What Apple answers about a lineage, as it travels and as it is verified.
@Suite struct StatusMessageTests {
    let forge: Forge
    let app = AppID("demo")

    init() throws { forge = try Forge() }

    private var lineage: LineageID {
        LineageID(app: app, environment: .production, originalTransactionID: "12345")
    }

    private func message(
        _ answer: String, call: StatusQuestion.Call = .statuses, took: Duration = .milliseconds(120)
    ) -> StatusMessage {
        StatusMessage(
            StatusQuestion(lineage: lineage, call: call, transactionID: "23456"), for: .refresh, askedAt: Forge.now,
            took: took, answer: Array(answer.utf8))
    }

    private func item(
        transaction: String? = nil, renewal: String? = nil, status: Int64? = 1
    ) throws -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("originalTransactionId", "12345")
        json.member("status", status)
        json.member("signedTransactionInfo", try transaction ?? forge.sign(Forge.transaction()))
        json.member("signedRenewalInfo", try renewal ?? forge.sign(Forge.renewalInfo()))
        json.endObject()
        return json.text
    }

    private func answer(
        _ items: String..., head: String = #""environment":"Production","bundleId":"com.example","appAppleId":41234"#
    ) -> String {
        "{\(head),\"data\":[{\"subscriptionGroupIdentifier\":\"g\",\"lastTransactions\":[\(items.joined(separator: ","))]}]}"
    }

    private func verified(_ message: StatusMessage, now: Timestamp = Forge.now) throws -> VerifiedStatuses {
        try StatusVerifier(try forge.verifier()).verify(message, for: Forge.identity, now: now)
    }

    private func refusal(_ answer: String, call: StatusQuestion.Call = .statuses) -> VerificationFailure.Code? {
        failure { _ = try verified(message(answer, call: call)) }?.code
    }

    // MARK: Encoding

    @Test func aMessageComesOutAsItWentIn() throws {
        for (call, purpose) in zip(StatusQuestion.Call.allCases, StatusMessage.Purpose.allCases) {
            let sent = StatusMessage(
                StatusQuestion(lineage: lineage, call: call, transactionID: "2"), for: purpose, askedAt: Forge.now,
                took: .microseconds(1_234_567), answer: Array("{\"a\": \"é\\\"\\n\"}".utf8))
            let read = try StatusMessage(decoding: sent.encoded(), app: app)
            #expect(read == sent)
            #expect(read.id == sent.id)
            #expect(read.took == .milliseconds(1235))
            #expect(read.answeredAt == Forge.now + .milliseconds(1235))
        }
    }

    @Test(
        "Only what was written is read",
        arguments: [
            ("\"version\":1", "\"version\":2"), ("\"version\":1,", ""), ("\"production\"", "\"xcode\""),
            ("\"statuses\"", "\"history\""), ("\"refresh\"", "\"curiosity\""), ("\"12345\"", "\"\""),
            ("\"12345\"", "7"), ("\"23456\"", "\"\(String(repeating: "2", count: 257))\""),
            ("\"tookMilliseconds\":120", "\"tookMilliseconds\":-1"),
            ("\"tookMilliseconds\":120", "\"tookMilliseconds\":3600001"),
            ("\"tookMilliseconds\":120", "\"tookMilliseconds\":1.5"), ("\"answer\":\"{}\"", "\"answer\":{}"),
            ("\"answer\":", "\"more\":1,\"answer\":"), ("\"answer\":\"{}\"", "\"answer\":\"{\\u007d\""),
            ("{\"version\"", " {\"version\""),
        ])
    func onlyWhatWasWrittenIsRead(text: String, instead: String) throws {
        let whole = String(decoding: message("{}").encoded(), as: UTF8.self)
        let parts = whole.split(separator: text, maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        let changed = parts.joined(separator: instead)
        #expect(throws: StatusMessage.Unreadable.self) {
            try StatusMessage(decoding: Array(changed.utf8), app: app)
        }
    }

    @Test("Invariant 10: an answer that is too large is not read")
    func anAnswerThatIsTooLargeIsNotRead() throws {
        let large = String(repeating: "x", count: StatusMessage.maximumAnswerBytes)
        _ = try StatusMessage(decoding: message(large).encoded(), app: app)
        #expect(throws: StatusMessage.Unreadable.self) {
            try StatusMessage(decoding: message(large + "x").encoded(), app: app)
        }
    }

    // MARK: Verifying

    @Test func everySubscriptionOfAnAnswerIsNewsWithApplesWord() throws {
        let other = try item(
            transaction: forge.sign(
                Forge.transaction(["originalTransactionId": .string("777"), "transactionId": .string("778")])),
            renewal: forge.sign(
                Forge.renewalInfo([
                    "originalTransactionId": .string("777"), "signedDate": Forge.date(Forge.now + .seconds(2)),
                ])), status: 2)
        let statuses = try verified(message(answer(try item(), other)))
        #expect(statuses.observations.map(\.lineage.originalTransactionID) == ["12345", "777"])
        #expect(statuses.observations.map(\.source) == [.status, .status])
        #expect(statuses.observations.map(\.status?.status) == [1, 2])
        #expect(statuses.observations[1].status?.signedDate == Forge.now + .seconds(2))
        #expect(statuses.observations.map(\.renewal?.originalTransactionID) == ["12345", "777"])
        #expect(statuses.tells(of: lineage))
    }

    @Test func aOneTimePurchaseIsNewsWithoutAStatus() throws {
        let signed = try forge.sign(Forge.transaction(["expiresDate": nil, "type": .string("Non-Consumable")]))
        let statuses = try verified(message("{\"signedTransactionInfo\":\"\(signed)\"}", call: .transaction))
        let observation = try #require(statuses.observations.first)
        #expect(observation.source == .status)
        #expect(observation.status == nil && observation.renewal == nil)
        #expect(observation.transaction?.transactionID == "23456")
    }

    @Test func anAnswerThatSaysNothingIsNoMistake() throws {
        let nothing = try verified(message(#"{"data":[]}"#))
        #expect(nothing.observations.isEmpty)
        #expect(!nothing.tells(of: lineage))
    }

    @Test("Invariants 6 and 7: one part that is not Apple's, not this app's or not of this environment spoils all")
    func onePartThatIsNotApplesSpoilsAll() throws {
        let good = try item()
        let stranger = try Forge().sign(Forge.transaction())
        #expect(refusal(answer(good, try item(transaction: stranger))) == .notTrusted)
        #expect(refusal(answer(good, try item(renewal: Forge().sign(Forge.renewalInfo())))) == .notTrusted)
        let foreign = try forge.sign(Forge.transaction(["bundleId": .string("com.example.other")]))
        #expect(refusal(answer(good, try item(transaction: foreign))) == .wrongApp)
        let sandbox = try forge.sign(Forge.transaction(["environment": .string("Sandbox")]))
        #expect(refusal(answer(good, try item(transaction: sandbox))) == .wrongEnvironment)
        let others = try forge.sign(Forge.renewalInfo(["originalTransactionId": .string("9")]))
        #expect(refusal(answer(good, try item(renewal: others))) == .disagreement)
        let ahead = try forge.sign(Forge.transaction(["signedDate": Forge.date(Forge.now + .seconds(7200))]))
        #expect(refusal(answer(good, try item(transaction: ahead))) == .signedTooFarAhead)
        #expect(refusal(answer(good, "{\"status\":5,\"originalTransactionId\":\"12345\"}")) == .malformed)
        #expect(refusal(answer(good, head: #""bundleId":"com.example.other""#)) == .disagreement)
        #expect(refusal(answer(good, head: #""bundleId":"com.example","environment":"Sandbox""#)) == .disagreement)
        #expect(refusal("[]") == .malformed)
        #expect(refusal("{") == .malformed)
        #expect(refusal("{}", call: .transaction) == .malformed)
        #expect(refusal(answer(good)) == nil)
    }

    // MARK: Asking

    private func fact(_ id: String, _ type: String?, expires: Bool, _ seconds: Int64 = 0) -> TransactionFact {
        TransactionFact(
            transactionID: id, originalTransactionID: "12345", productID: "p", signedDate: Forge.now,
            purchaseDate: Forge.now + .seconds(seconds), expiresDate: expires ? Forge.now + .seconds(86_400) : nil,
            type: type, payloadHash: "h")
    }

    private func question(_ facts: TransactionFact..., renews: Bool = false) -> StatusQuestion {
        var record = LineageRecord(lineage: lineage)
        for fact in facts {
            record.fold(Observation(lineage: lineage, source: .status, signedDate: Forge.now, transaction: fact))
        }
        if renews {
            let renewal = RenewalFact(originalTransactionID: "12345", signedDate: Forge.now, payloadHash: "r")
            record.fold(Observation(lineage: lineage, source: .status, signedDate: Forge.now, renewal: renewal))
        }
        return StatusQuestion(about: record)
    }

    @Test func whatIsAskedDependsOnWhatWasBought() {
        let subscription = question(
            fact("2", "Auto-Renewable Subscription", expires: true, 60),
            fact("1", "Auto-Renewable Subscription", expires: true))
        #expect(subscription.call == .statuses)
        #expect(subscription.transactionID == "2")
        for (type, expires) in [("Non-Consumable", false), ("Consumable", false), ("Non-Renewing Subscription", true)] {
            let once = question(fact("7", type, expires: expires))
            #expect(once.call == .transaction)
            #expect(once.transactionID == "7")
        }
        // Without a type, what expires renews, and so does what has a renewal.
        #expect(question(fact("1", nil, expires: true)).call == .statuses)
        #expect(question(fact("1", nil, expires: false)).call == .transaction)
        #expect(question(fact("1", nil, expires: false), renews: true).call == .statuses)
        #expect(question(renews: true) == StatusQuestion(lineage: lineage, call: .statuses, transactionID: "12345"))
    }
}
