import Testing
import Time

@testable import Entitlements

/// Who has a lineage, and who may take it.
@Suite struct ClaimTests {
    private func record(token: String? = nil, signed: Timestamp = day(0), _ claims: ClaimFact...) -> LineageRecord {
        var record = LineageRecord(lineage: lineage)
        record.fold(observation(transaction: period("1", from: day(0), to: day(30), signed: signed, token: token)))
        for claim in claims { record.fold(observation(claim: claim)) }
        return record
    }

    private func observation(transaction: TransactionFact? = nil, claim: ClaimFact? = nil) -> Observation {
        Observation(
            lineage: lineage, source: .device, signedDate: day(0), transaction: transaction, claim: claim)
    }

    private func claim(
        _ customer: String, _ at: Timestamp, over: String? = nil, takesOver: Bool = false
    ) -> ClaimFact {
        ClaimFact(customer: customer, claimedAt: at, transactionID: "1", over: over, takesOver: takesOver)
    }

    private func decision(
        _ customer: String, on record: LineageRecord, _ policy: TransferPolicy, access: Bool = true,
        transfers: [Timestamp] = [], forced: Bool = false
    ) -> ClaimDecision {
        ClaimDecision(
            of: customer, transactionID: "1", at: day(10), record: record, access: access,
            rules: TransferRules(policy: policy), transfers: transfers, isForced: forced)
    }

    // MARK: Who has it

    @Test(arguments: TransferPolicy.allCases)
    func withoutTokenAndClaimNobodyHasIt(_ policy: TransferPolicy) {
        #expect(record().customers(under: policy) == [])
    }

    @Test(arguments: TransferPolicy.allCases)
    func theTokenNamesTheCustomer(_ policy: TransferPolicy) {
        #expect(record(token: "ann").customers(under: policy) == ["ann"])
    }

    @Test(arguments: [TransferPolicy.keep, .transfer, .transferIfInactive])
    func theNewestClaimCounts(_ policy: TransferPolicy) {
        let record = record(claim("bob", day(3), takesOver: true), claim("eve", day(2), takesOver: true))
        #expect(record.customers(under: policy) == ["bob"])
    }

    @Test(
        "Invariant 6: of two who claimed what nobody was known to have, the first has it where whoever has it is protected",
        arguments: [
            (TransferPolicy.keep, ["eve"]), (.transferIfInactive, ["eve"]), (.transfer, ["bob"]),
            (.share, ["bob", "eve"]),
        ])
    func theFirstClaimCountsWhenTheStoreHadForgottenIt(_ policy: TransferPolicy, _ customers: [String]) {
        let record = record(claim("bob", day(3)), claim("eve", day(2)))
        #expect(record.customers(under: policy) == customers)
    }

    @Test func whatWasTakenFromSomebodyCountsOverAnOlderClaimThatCameLate() {
        var record = record(claim("bob", day(3)), claim("carl", day(4), takesOver: true))
        record.fold(observation(claim: claim("eve", day(2))))
        #expect(record.customers(under: .keep) == ["carl"])
    }

    @Test func allWhoClaimedItHaveItUnderShare() {
        let record = record(token: "ann", claim("eve", day(2)), claim("bob", day(3)))
        #expect(record.customers(under: .share) == ["ann", "bob", "eve"])
    }

    @Test func aRenewalThatRepeatsTheTokenDoesNotTakeALineageBack() {
        var record = record(token: "ann", claim("bob", day(10), over: "ann", takesOver: true))
        record.fold(observation(transaction: period("2", from: day(30), to: day(60), token: "ann")))
        #expect(record.customers(under: .transfer) == ["bob"])
    }

    @Test func aTokenThatWasSetAfterTheClaimCounts() {
        var record = record(token: "ann", claim("bob", day(10), over: "ann", takesOver: true))
        record.fold(observation(transaction: period("2", from: day(30), to: day(60), token: "carl")))
        #expect(record.customers(under: .transfer) == ["carl"])
    }

    @Test func aTokenThatWasSignedBeforeTheClaimAndCameLateDoesNot() {
        var record = record(claim("bob", day(10)))
        record.fold(observation(transaction: period("1", from: day(0), to: day(30), signed: day(9), token: "ann")))
        #expect(record.customers(under: .keep) == ["bob"])
    }

    @Test func ofMoreClaimsThanAreKeptTheNewestThatTookItAndTheFirstOthersCount() {
        var record = LineageRecord(lineage: lineage)
        for number in (0..<40).shuffled() {
            record.fold(observation(claim: claim("c\(number)", day(number), takesOver: true)))
            record.fold(observation(claim: claim("d\(number)", day(number))))
        }
        let (newest, first) = ((24..<40).map { "c\($0)" }, (0..<16).map { "d\($0)" })
        let (taken, others) = (record.claims.filter(\.takesOver), record.claims.filter { !$0.takesOver })
        #expect(taken.map(\.customer) == newest)
        #expect(others.map(\.customer) == first)
    }

    @Test func recordsOfOlderVersionsAreReadAndHaveNoClaims() throws {
        let old = Array(#"{"v":2,"c":{"id":"ann","signed":5,"hash":"h"}}"#.utf8)
        let record = try LineageRecord(decoding: old, lineage: lineage)
        #expect(record.claims.isEmpty)
        #expect(record.customers(under: .keep) == ["ann"])
        #expect(try LineageRecord(decoding: record.encoded(), lineage: lineage) == record)
    }

    // MARK: Who may take it

    @Test(arguments: TransferPolicy.allCases)
    func whatIsNobodysMayBeClaimed(_ policy: TransferPolicy) {
        #expect(decision("bob", on: record(), policy) == .accepted(claim("bob", day(10)), from: []))
    }

    @Test(arguments: TransferPolicy.allCases)
    func whoHasItNeedNotClaimIt(_ policy: TransferPolicy) {
        #expect(decision("ann", on: record(token: "ann"), policy) == .alreadyTheirs)
    }

    @Test("Invariant 6: under keep, a second customer with the same signed transaction gets nothing")
    func whoeverHasItKeepsIt() {
        #expect(decision("bob", on: record(token: "ann"), .keep, access: false) == .refused(.heldByAnother))
        #expect(decision("bob", on: record(claim("ann", day(1))), .keep, access: false) == .refused(.heldByAnother))
    }

    @Test func underTransferItMoves() {
        #expect(
            decision("bob", on: record(token: "ann"), .transfer)
                == .accepted(claim("bob", day(10), over: "ann", takesOver: true), from: ["ann"]))
    }

    @Test func underTransferIfInactiveItMovesOnlyWithoutAccess() {
        let record = record(token: "ann")
        #expect(decision("bob", on: record, .transferIfInactive, access: true) == .refused(.stillActive))
        #expect(
            decision("bob", on: record, .transferIfInactive, access: false)
                == .accepted(claim("bob", day(10), over: "ann", takesOver: true), from: ["ann"]))
    }

    @Test func underShareNobodyLosesIt() {
        #expect(
            decision("bob", on: record(token: "ann"), .share)
                == .accepted(claim("bob", day(10), over: "ann"), from: []))
    }

    @Test func underShareThereIsRoomForSixteen() {
        var record = record()
        for number in 0..<16 { record.fold(observation(claim: claim("c\(number)", day(number)))) }
        #expect(decision("bob", on: record, .share) == .refused(.tooManyCustomers))
    }

    @Test func aLineageThatMovedTooOftenStaysForAWhile() {
        let record = record(token: "ann")
        let lately = [day(1), day(5), day(9)]
        #expect(decision("bob", on: record, .transfer, transfers: lately) == .refused(.tooManyTransfers))
        let longAgo = [day(-20), day(5), day(9)]
        guard case .accepted = decision("bob", on: record, .transfer, transfers: longAgo) else {
            Issue.record("a move that lies before the window counted")
            return
        }
    }

    @Test(arguments: [TransferPolicy.keep, .transfer, .transferIfInactive])
    func whoeverIsForcedInHasIt(_ policy: TransferPolicy) {
        var record = record(token: "ann")
        guard
            case .accepted(let claim, let from) = decision(
                "bob", on: record, policy, transfers: [day(1), day(5), day(9)], forced: true)
        else {
            Issue.record("refused")
            return
        }
        #expect(from == ["ann"])
        #expect(claim.takesOver)
        record.fold(observation(claim: claim))
        #expect(record.customers(under: policy) == ["bob"])
    }

    @Test(arguments: ["", ".", "..", "a\nb", "\u{1B}[31m", "\u{85}", String(repeating: "x", count: 257)])
    func whatIsNoCustomerIsRefused(_ id: String) {
        #expect(CustomerID.mistake(in: id) != nil)
    }

    @Test(arguments: ["a", "...", "e\u{301}", "a/b c", String(repeating: "x", count: 256)])
    func whatABackendCallsItsCustomersIsTaken(_ id: String) {
        #expect(CustomerID.mistake(in: id) == nil)
    }

    // MARK: History

    @Test func aHistoryEntryComesBackAsItWas() throws {
        let news = Observation(
            lineage: lineage, source: .notification, signedDate: day(1), notificationType: "REFUND", subtype: nil,
            notificationUUID: "u")
        let entries = [
            HistoryEntry(kind: .transition, at: day(2), cause: .refund, from: .active, to: .revoked, news: news),
            HistoryEntry(kind: .transition, at: day(2), cause: .time, from: nil, to: .active, isUnexpected: true),
            HistoryEntry(
                kind: .transfer, at: day(2), cause: .other, detail: "forced", fromCustomer: "a", toCustomer: "b"),
        ]
        for entry in entries { #expect(try HistoryEntry(decoding: entry.encoded()) == entry) }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"kind":"transition"}"#, #"{"kind":"novel","at":1,"cause":"time"}"#,
        #"{"kind":"change","at":1,"cause":"time","more":1}"#,
        #"{"kind":"change","at":1,"cause":"time","from":"limbo"}"#,
    ])
    func whatIsNoHistoryEntryIsRefused(_ text: String) {
        #expect(throws: RecordError.self) { try HistoryEntry(decoding: Array(text.utf8)) }
    }
}
