import TestSupport
import Testing
import Time

@testable import Entitlements

@Suite("Lineage record") struct RecordTests {
    @Test func theNewestSignedTransactionNamesTheCustomer() {
        let record = record(
            period("1", from: day(0), to: day(30), signed: day(40), token: "late"),
            period("2", from: day(30), to: day(60), token: "early"), period("3", from: day(60), to: day(90)))
        #expect(record.customer == "late")
    }

    @Test func withoutATokenNobodyIsTheCustomer() {
        #expect(record(period("1", from: day(0), to: day(30))).customer == nil)
    }

    @Test func ofTwoCustomersNamedTogetherOneIsAlwaysTheCustomer() {
        var (one, other) = (
            period("1", from: day(0), to: day(30), token: "ann"), period("2", from: day(0), to: day(30), token: "bob")
        )
        (one.payloadHash, other.payloadHash) = ("same", "same")
        #expect(record(one, other).customer == "bob")
        #expect(record(other, one).customer == "bob")
    }

    @Test func ofTwoVersionsSignedTogetherTheRevocationWins() {
        for (grantedHash, revokedHash) in [("a", "b"), ("b", "a")] {
            var granted = period("1", from: day(0), to: day(30), signed: day(10))
            var revoked = period("1", from: day(0), to: day(30), signed: day(10), revoked: day(10))
            (granted.payloadHash, revoked.payloadHash) = (grantedHash, revokedHash)
            #expect(record(granted, revoked) == record(revoked, granted))
            #expect(record(granted, revoked).transactions == [revoked])
        }
    }

    @Test func ofTwoStatusesSignedTogetherTheRevocationThenTheGreaterNumberWins() {
        func latest(of statuses: Int64...) -> Int64? {
            var record = LineageRecord(lineage: lineage)
            for status in statuses {
                record.fold(observation(status: StatusFact(status: status, signedDate: day(1))))
            }
            return record.status?.status
        }
        #expect(latest(of: 1, 4, 2) == 4)
        #expect(latest(of: 5, 9, 1) == 5)
        #expect(latest(of: -1, 0, -7) == 0)
    }

    @Test func foldSaysWhetherAnythingChanged() {
        var record = LineageRecord(lineage: lineage)
        let news = observation(transaction: period("1", from: day(0), to: day(30), token: "a"))
        #expect(changes(&record, news))
        #expect(!changes(&record, news))
        #expect(!changes(&record, observation(transaction: period("1", from: day(0), to: day(30), signed: day(-1)))))
    }

    @Test func anObservationOfAnotherLineageIsNotTakenIn() {
        var record = LineageRecord(lineage: lineage)
        var news = observation(transaction: period("1", from: day(0), to: day(30)))
        news.lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "1000")
        #expect(!changes(&record, news))
        #expect(record.transactions.isEmpty)
    }

    @Test("Invariant 10: a record keeps its newest transactions and not more")
    func aRecordKeepsItsNewestTransactions() {
        var record = LineageRecord(lineage: lineage)
        for number in (0..<200).shuffled() {
            let number = number % 100
            record.fold(observation(transaction: period("\(number)", from: day(number), to: day(number + 1))))
        }
        check(record.transactions.map(\.purchaseDate) == (36..<100).map { day($0) })
    }

    @Test func aFullRecordIsNotChangedByWhatIsOlderThanAllItHas() {
        var record = LineageRecord(lineage: lineage)
        for number in 0..<LineageRecord.maximumTransactions {
            record.fold(observation(transaction: period("\(number)", from: day(number), to: day(number + 1))))
        }
        let before = record
        #expect(!changes(&record, observation(transaction: period("x", from: day(-1), to: day(0)))))
        #expect(record == before)
        #expect(changes(&record, observation(transaction: period("x", from: day(70), to: day(71)))))
        #expect(record.transactions.count == LineageRecord.maximumTransactions)
    }

    @Test func factsInAnotherOrderAreRefused() {
        func code(_ text: String) -> RecordError.Code? {
            do throws(RecordError) { _ = try LineageRecord(decoding: Array(text.utf8), lineage: lineage) } catch {
                return error.code
            }
            return nil
        }
        func transaction(_ id: String, _ from: Int) -> String {
            #"{"id":"\#(id)","orig":"1000","prod":"p","signed":1,"from":\#(from),"hash":"h"}"#
        }
        func claim(_ customer: String, _ at: Int) -> String { #"{"id":"\#(customer)","at":\#(at),"tx":"1"}"# }
        func transactions(_ facts: String...) -> String { #"{"v":3,"t":[\#(facts.joined(separator: ","))]}"# }
        func claims(_ facts: String...) -> String { #"{"v":3,"k":[\#(facts.joined(separator: ","))]}"# }
        #expect(code(transactions(transaction("1", 1), transaction("2", 1), transaction("1", 2))) == nil)
        #expect(code(transactions(transaction("2", 1), transaction("1", 1))) == .notCanonical)
        #expect(code(transactions(transaction("1", 2), transaction("2", 1))) == .notCanonical)
        #expect(code(transactions(transaction("1", 1), transaction("1", 1))) == .notCanonical)
        #expect(code(claims(claim("a", 1), claim("b", 1), claim("c", 2))) == nil)
        #expect(code(claims(claim("b", 1), claim("a", 1))) == .notCanonical)
        #expect(code(claims(claim("a", 2), claim("b", 1))) == .notCanonical)
    }

    @Test func theBytesAreThoseWrittenDown() throws {
        let record = record(
            period("1", from: day(0), to: day(30), token: "a"), renewal: renewal(signed: day(2), on: false), status: 1)
        #expect(
            String(decoding: record.encoded(), as: UTF8.self)
                == #"{"v":3,"t":[{"id":"1","orig":"1000","prod":"basic.month","signed":1750000000000,"#
                + #""from":1750000000000,"to":1752592000000,"type":"Auto-Renewable Subscription","group":"g","#
                + #""token":"a","own":"PURCHASED","hash":"1-1750000000000"}],"#
                + #""r":{"orig":"1000","signed":1750172800000,"auto":0,"hash":"renewal-1750172800000"},"#
                + #""s":{"status":1,"signed":1750172800000},"#
                + #""c":{"id":"a","signed":1750000000000,"hash":"1-1750000000000"}}"#)
        #expect(try LineageRecord(decoding: record.encoded(), lineage: lineage) == record)
    }

    @Test func everyFieldOfEveryFactIsKept() throws {
        let transaction = TransactionFact(
            transactionID: "1", originalTransactionID: "1000", productID: "basic.month", signedDate: day(3),
            purchaseDate: day(0), originalPurchaseDate: day(-30), expiresDate: day(30), type: "Other",
            subscriptionGroupID: "g", appAccountToken: "ann", ownership: "ASSIGNED", isUpgraded: true, quantity: 4,
            revocationDate: day(2), revocationReason: 1, revocationType: "REFUND_PRORATED",
            revocationPercentage: 50_000, revokedSeatQuantity: 2, offerType: 5, offerIdentifier: "o",
            offerDiscountType: "ONE_TIME", transactionReason: "RENEWAL", price: 9_990, currency: "EUR",
            storefront: "DEU", payloadHash: "h")
        let renewal = RenewalFact(
            originalTransactionID: "1000", signedDate: day(3), productID: "basic.month",
            autoRenewProductID: "pro.month", autoRenewStatus: 1, isInBillingRetryPeriod: false,
            gracePeriodExpiresDate: day(36), expirationIntent: 2, priceIncreaseStatus: 0, renewalDate: day(30),
            appAccountToken: "ann", offerType: 4, offerIdentifier: "p", offerDiscountType: "PAY_UP_FRONT",
            renewalPrice: 12_990, currency: "EUR", payloadHash: "r")
        let written = record(transaction, renewal: renewal, status: 4)
        let read = try LineageRecord(decoding: written.encoded(), lineage: lineage)
        #expect(read.transactions == [transaction])
        #expect(read.renewal == renewal)
        #expect(read.status == StatusFact(status: 4, signedDate: day(3)))
        #expect(read.customer == "ann")
        // Nothing that is set here is nil: a field that is added must be added above.
        for fact in [transaction, renewal] as [Any] {
            for child in Mirror(reflecting: fact).children {
                let isSet = Mirror(reflecting: child.value).displayStyle != .optional || "\(child.value)" != "nil"
                #expect(isSet, "\(child.label ?? "")")
            }
        }
    }

    @Test func theFirstVersionIsReadAndWrittenAsThePresentOne() throws {
        let first =
            #"{"v":1,"r":{"orig":"1000","signed":1750172800000,"auto":1,"consent":0,"hash":"h"},"#
            + #""s":{"status":1,"signed":1750172800000}}"#
        let record = try LineageRecord(decoding: Array(first.utf8), lineage: lineage)
        #expect(record.renewal?.priceIncreaseStatus == 0)
        #expect(record.renewal?.renewalPrice == nil)
        check(String(decoding: record.encoded(), as: UTF8.self) == first.replacing("\"v\":1", with: "\"v\":3"))
    }

    @Test("Invariant 3: what an older version left out comes back in any order")
    func whatAnOlderVersionLeftOutComesBackInAnyOrder() throws {
        var whole = renewal(signed: day(2), on: true)
        whole.renewalPrice = 9_990
        let old = try LineageRecord(
            decoding: Array(
                #"{"v":1,"r":{"orig":"1000","signed":1750172800000,"auto":1,"hash":"renewal-1750172800000"}}"#.utf8),
            lineage: lineage)
        let new = record(renewal: whole)
        #expect(old.merging(new).encoded() == new.merging(old).encoded())
        #expect(old.merging(new).renewal?.renewalPrice == 9_990)
    }

    @Test(arguments: [
        ("", RecordError.Code.malformed), ("[]", .malformed), ("{}", .malformed), (#"{"v":"1"}"#, .malformed),
        (#"{"v":0}"#, .unknownVersion), (#"{"v":4}"#, .unknownVersion), (#"{"v":1,"x":1}"#, .malformed),
        (#"{ "v":1}"#, .notCanonical),
        (#"{"v":1,"t":[]}"#, .notCanonical), (#"{"v":1,"t":[1]}"#, .malformed),
        (#"{"v":1,"s":{"status":1}}"#, .malformed), (#"{"v":1,"s":{"signed":1,"status":1}}"#, .malformed),
        (#"{"v":1,"s":{"status":1,"signed":1,"more":1}}"#, .malformed),
        (#"{"v":1,"s":{"status":1.0,"signed":1}}"#, .notCanonical),
        (#"{"v":1,"s":{"status":"1","signed":1}}"#, .malformed),
        (#"{"v":1,"c":{"id":"\u0061","signed":1,"hash":""}}"#, .notCanonical),
        (#"{"v":1,"r":{"orig":"1","signed":1,"auto":null,"hash":""}}"#, .malformed),
        (#"{"v":3,"k":[]}"#, .notCanonical), (#"{"v":3,"k":[{"id":"a","at":1}]}"#, .malformed),
        (#"{"v":3,"k":[{"id":"a","at":2,"tx":"1"},{"id":"b","at":1,"tx":"1"}]}"#, .notCanonical),
    ])
    func bytesThatNobodyWroteAreRefused(text: String, code: RecordError.Code) {
        #expect(throws: RecordError.self) { try LineageRecord(decoding: Array(text.utf8), lineage: lineage) }
        do throws(RecordError) { _ = try LineageRecord(decoding: Array(text.utf8), lineage: lineage) } catch {
            #expect(error.code == code)
        }
    }
}
