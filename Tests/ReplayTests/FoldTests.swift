import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import JSON
import Replay
import TestSupport
import Testing
import Time

@Suite("Folding in memory") struct FoldTests {
    static func fact(_ id: String, signed: Timestamp = Forge.now, revoked: Timestamp? = nil) -> TransactionFact {
        TransactionFact(
            transactionID: id, originalTransactionID: id, productID: "pro.month", signedDate: signed,
            purchaseDate: Forge.now, expiresDate: Forge.now + .seconds(30 * 86_400),
            type: "Auto-Renewable Subscription", revocationDate: revoked, payloadHash: "h\(signed.milliseconds)")
    }

    static func observation(_ id: String, _ fact: TransactionFact? = nil) -> Observation {
        let fact = fact ?? Self.fact(id)
        return Observation(
            lineage: Stage.lineage(id), source: .notification, signedDate: fact.signedDate, transaction: fact)
    }

    private func message(_ body: [UInt8], receivedAt: Timestamp? = Forge.now, app: String = "demo") -> LedgerMessage {
        var headers = [MessageHeader.app: app]
        headers[MessageHeader.receivedAt] = receivedAt?.rfc3339
        return LedgerMessage(BrokerMessage(body: body, headers: headers), at: .offset(0))
    }

    /// Messages in batches of three.
    private actor ListSource: MessageSource {
        private var rest: ArraySlice<LedgerMessage>
        init(_ messages: [LedgerMessage]) { rest = messages[...] }
        func next() async throws(ReplayError) -> [LedgerMessage] {
            defer { rest = rest.dropFirst(3) }
            return Array(rest.prefix(3))
        }
        var share: Double { rest.isEmpty ? 1 : 0 }
    }

    @Test("Invariant 3: the fold is the same as the record that the observations give one by one, in any order")
    func theFoldIsTheRecord() throws {
        let observations = (0..<60).flatMap { number in
            [
                Self.observation("\(number % 20)", Self.fact("\(number % 20)", signed: Forge.now + .seconds(number))),
                Self.observation(
                    "\(number % 20)",
                    Self.fact("\(number % 20)", signed: Forge.now + .seconds(number), revoked: Forge.now)),
            ]
        }
        var records: [LineageID: LineageRecord] = [:]
        for observation in observations {
            records[observation.lineage, default: LineageRecord(lineage: observation.lineage)].fold(observation)
        }
        for _ in 0..<5 {
            var fold = Fold()
            for (place, observation) in observations.shuffled().enumerated() {
                try fold.fold(observation)
                if place % 7 == 0 { try fold.settle() }
            }
            try fold.settle()
            #expect(fold.count == 20)
            for (lineage, record) in records { #expect(fold.bytes(of: lineage) == record.encoded()) }
        }
    }

    @Test("Invariant 10: more lineages than may be kept are refused")
    func moreLineagesThanMayBeKeptAreRefused() throws {
        var fold = Fold(limit: 2)
        try fold.fold(Self.observation("1"))
        try fold.fold(Self.observation("2"))
        try fold.settle()
        try fold.fold(Self.observation("3"))
        #expect(throws: ReplayError.self) { try fold.settle() }
    }

    @Test("Invariant 4: a message is judged by when it was received, or put back to work, and not by today")
    func aMessageIsJudgedByWhenItWasReceived() async throws {
        let hour = Duration.seconds(2 * 3600)
        let ahead = try Forge.notification(lineage: "1", signed: Forge.now + hour)
        let early = message(ahead)
        var returned = early
        returned.message.headers[MessageHeader.returnedAt] = (Forge.now + hour).rfc3339
        var tally = ReplayTally()
        var observations = 0
        // Long after the certificates have expired.
        try await Replayer(decoder: try Stage.decoder(), now: Forge.now + .seconds(100 * 365 * 86_400)).run(
            ListSource([early, returned]), tally: &tally
        ) { judged throws(ReplayError) in
            observations += judged.flatMap(\.observations).count
        }
        #expect(tally.refusedByReason == ["signedTooFarAhead": 1])
        #expect(observations == 1)
    }

    @Test func whatCannotBeAppliedIsCountedByItsReasonAndNamed() async throws {
        let messages = [
            message(try Forge.notification(lineage: "1")), message(try Forge.testNotification()),
            message(try Forge.notification(lineage: "2"), app: "another"), message(Array("{}".utf8)),
            message(try Forge.notification(lineage: "3", bundle: "com.example.other")),
            message(try Forge.notification(lineage: "4"), receivedAt: Forge.now + .seconds(10)),
        ]
        var tally = ReplayTally()
        let scope = ReplayScope(receivedUntil: Forge.now)
        try await Replayer(decoder: try Stage.decoder(), scope: scope, now: Forge.now).run(
            ListSource(messages), tally: &tally
        ) { _ in
        }
        #expect(tally.messages == 6)
        #expect(tally.news == 1)
        #expect(tally.noted == ["TEST": 1])
        #expect(tally.refusedByReason == ["unknownApp": 1, "malformed": 1, "wrongApp": 1])
        #expect(tally.refused.map(\.refusal.code).sorted() == ["malformed", "unknownApp", "wrongApp"])
        #expect(tally.leftOut == 1)
    }

    @Test("Invariant 3: Apple's answers in the ledger are folded as the consumer applied them")
    func applesAnswersAreFoldedAsTheConsumerAppliedThem() async throws {
        let (first, later) = (Forge.now, Forge.now + .seconds(60))
        func answered(_ status: Int, at instant: Timestamp) throws -> LedgerMessage {
            let signed = try Forge.transaction(lineage: "1", signed: instant, purchased: Forge.now)
            let answer =
                "{\"data\":[{\"lastTransactions\":[{\"status\":\(status),\"signedTransactionInfo\":\"\(signed)\"}]}]}"
            let question = StatusQuestion(lineage: Stage.lineage("1"), call: .statuses, transactionID: "1")
            let message = StatusMessage(
                question, for: .reconcile, askedAt: instant, took: .zero, answer: Array(answer.utf8))
            return LedgerMessage(BrokerMessage(statuses: message, correlation: "c"), at: .offset(0))
        }
        var broken = try answered(1, at: first)
        broken.message.body = Array("{}".utf8)
        let messages = [
            try answered(5, at: later), message(try Forge.notification(lineage: "1")), broken,
            try answered(1, at: first),
        ]
        var (tally, fold) = (ReplayTally(), Fold())
        var causes: Set<TransitionCause> = []
        try await Replayer(decoder: try Stage.decoder(), now: Forge.now).run(
            ListSource(messages), tally: &tally
        ) { judged throws(ReplayError) in
            for one in judged {
                if case .news(_, let cause) = one.verdict { causes.insert(cause) }
                for observation in one.observations { try fold.fold(observation) }
            }
        }
        try fold.settle()
        #expect(tally.news == 3)
        #expect(tally.refusedByReason == ["malformed": 1])
        #expect(causes == [.answer, .other])
        let record = try #require(try fold.record(of: Stage.lineage("1")))
        #expect(record.status == StatusFact(status: 5, signedDate: later))
        #expect(record.evaluated(at: later, map: ProductMap()).state == .revoked)
    }

    @Test func anInterruptedReplayEndsBetweenTwoBatches() async throws {
        let interruption = Interruption()
        let messages = try (0..<9).map { message(try Forge.notification(lineage: "\($0)")) }
        var tally = ReplayTally()
        try await Replayer(decoder: try Stage.decoder(), now: Forge.now, interruption: interruption).run(
            ListSource(messages), tally: &tally
        ) { _ in interruption.request() }
        #expect(tally.isInterrupted)
        #expect(tally.messages == 3)
    }
}

@Suite("Comparing records") struct ComparisonTests {
    private func record(_ facts: TransactionFact...) -> LineageRecord {
        var record = LineageRecord(lineage: Stage.lineage("1"))
        for fact in facts { record.fold(FoldTests.observation("1", fact)) }
        return record
    }

    private func comparison(ledgerBegins: Timestamp? = nil) -> LineageComparison {
        let map = ProductMap(products: ["pro.month": .init(entitlements: ["pro"])])
        return LineageComparison(
            rules: [Stage.app: AppRules(products: map)], at: Forge.now + .seconds(60), ledgerBegins: ledgerBegins)
    }

    @Test func aDifferenceNamesTheFactTheMemberBothValuesAndTheAnswers() throws {
        let refunded = FoldTests.fact("1", signed: Forge.now + .seconds(5), revoked: Forge.now + .seconds(4))
        let difference = try #require(
            try comparison().difference(Stage.lineage("1"), ledger: record(refunded), live: record(FoldTests.fact("1")))
        )
        #expect(difference.kind == .differs)
        #expect(difference.liveLacks && !difference.liveHasMore && difference.counts)
        let revokedMembers = difference.members.filter { $0.member == "revoked" }
        let revoked = try #require(revokedMembers.first)
        #expect(revoked.fact == "transaction 1")
        #expect(revoked.mine?.int64 == (Forge.now + .seconds(4)).milliseconds)
        #expect(revoked.theirs == nil)
        let states = difference.evaluation.filter { $0.member == "state" }
        let state = try #require(states.first)
        #expect(state.mine?.string == "revoked")
        #expect(state.theirs?.string == "active")
    }

    @Test func equalRecordsDoNotDiffer() throws {
        let record = record(FoldTests.fact("1"))
        #expect(try comparison().difference(Stage.lineage("1"), ledger: record, live: record) == nil)
    }

    @Test func whatWasSignedBeforeTheLedgerBeginsIsNoDifferenceButWhatIsLackingIs() throws {
        let begins = Forge.now + .seconds(100)
        let (older, newer) = (FoldTests.fact("1"), FoldTests.fact("1", signed: begins + .seconds(1)))
        let id = Stage.lineage("1")
        let cut = try #require(
            try comparison(ledgerBegins: begins).difference(id, ledger: nil, live: record(older)))
        #expect(cut.mayBeOlderThanLedger && !cut.counts)
        let planted = try #require(
            try comparison(ledgerBegins: begins).difference(id, ledger: nil, live: record(newer)))
        #expect(!planted.mayBeOlderThanLedger && planted.counts)
        let lost = try #require(
            try comparison(ledgerBegins: begins).difference(id, ledger: record(newer), live: record(older)))
        #expect(lost.liveLacks && lost.counts)
    }

    @Test func aFactThatOnlyOneHasIsADifferenceAsAWhole() throws {
        let mine = try JSONValue.parse(Array(#"{"v":2,"t":[{"id":"1","a":1}],"s":{"status":1}}"#.utf8))
        let theirs = try JSONValue.parse(Array(#"{"v":3,"t":[{"id":"1","a":2},{"id":"2"}],"x":{"y":1}}"#.utf8))
        let found = MemberDifference.between(mine, theirs).map { "\($0.fact) \($0.member ?? "-")" }
        #expect(found == ["transaction 1 a", "transaction 2 -", "status -", "x -"])
    }
}
