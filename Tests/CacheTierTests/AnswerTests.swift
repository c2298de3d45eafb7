import AppStore
import Entitlements
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite struct AnswerTests {
    private func answer(_ level: ServiceLevel, _ records: [LineageRecord], at instant: Timestamp = day(1)) -> Answer {
        let evaluation = CustomerEvaluation(of: records, at: instant, map: products)
        return Answer(
            key: CustomerKey(app: AppID("demo"), environment: .production, customer: "an\"na"), revision: 7,
            level: level, reason: .storeSilent, source: .memory, asOf: day(1), evaluation: evaluation,
            fragment: Answer.fragment(evaluation))
    }

    @Test("Invariant 8: the answer has every field, by its name") func theAnswerHasEveryFieldByItsName() throws {
        let app = TestApp()
        let record = folded([app.period("1"), app.renewal(signed: 1)], app.lineage())
        let text = String(decoding: answer(.a, [record]).json(serverTime: day(2)), as: UTF8.self)
        check(
            text == """
                {"app":"demo","customer":"an\\"na","environment":"production","serverTime":"2025-06-17T15:06:40.000Z",\
                "revision":7,"service":{"level":"A","source":"memory","asOf":"2025-06-16T15:06:40.000Z",\
                "reason":"storeSilent","syncing":true,"actions":{"purchase":true,"manageSubscription":false}},\
                "entitlements":[{"id":"basic","active":true,"validUntil":"2025-07-15T15:06:40.000Z","state":"active",\
                "willRenew":true,"grantedBy":["1000"]}],"subscriptions":[{"originalTransactionId":"1000",\
                "productId":"basic","nextProductId":"basic","pendingChange":null,"pendingChangeAt":null,\
                "state":"active","access":true,\
                "expiresAt":"2025-07-15T15:06:40.000Z","gracePeriodExpiresAt":null,"willRenew":true,\
                "trial":false,"offer":null,"nextOffer":null,"priceIncrease":null,"ownership":"PURCHASED",\
                "seats":null,"nextChangeAt":"2025-07-15T15:06:40.000Z","nextState":"hold",\
                "pendingVerification":false}]}
                """)
        #expect(throws: Never.self) { try JSONValue.parse(Array(text.utf8)) }
    }

    @Test func offersAndPriceIncreasesAreObjects() throws {
        let app = TestApp()
        var transaction = app.period("1")
        transaction.transaction?.offerType = 1
        transaction.transaction?.offerDiscountType = "FREE_TRIAL"
        var renewal = app.renewal(signed: 1)
        renewal.renewal?.offerType = 2
        renewal.renewal?.offerIdentifier = "spring"
        renewal.renewal?.priceIncreaseStatus = 0
        renewal.renewal?.renewalPrice = 12_990
        renewal.renewal?.currency = "EUR"
        let answer = answer(.s, [folded([transaction, renewal], app.lineage())])
        let subscription = try JSONValue.parse(answer.json(serverTime: day(2)))["subscriptions"]?.array?.first
        #expect(subscription?["trial"]?.bool == true)
        #expect(subscription?["offer"]?["type"]?.int64 == 1)
        #expect(subscription?["offer"]?["discountType"]?.string == "FREE_TRIAL")
        #expect(subscription?["nextOffer"]?["identifier"]?.string == "spring")
        #expect(subscription?["priceIncrease"]?["agreed"]?.bool == false)
        #expect(subscription?["priceIncrease"]?["renewalPrice"]?.int64 == 12_990)
        #expect(subscription?["priceIncrease"]?["currency"]?.string == "EUR")
    }

    @Test func nothingIsTwoEmptyLists() throws {
        let json = try JSONValue.parse(answer(.s, []).json(serverTime: day(2)))
        #expect(json["entitlements"]?.array?.isEmpty == true)
        #expect(json["subscriptions"]?.array?.isEmpty == true)
    }

    @Test(arguments: [(ServiceLevel.s, true, true, false), (.a, true, false, true), (.b, false, false, true)])
    func theLevelSaysWhatTheClientMayOffer(level: ServiceLevel, purchase: Bool, manage: Bool, syncing: Bool) throws {
        let service = try JSONValue.parse(answer(level, []).json(serverTime: day(2)))["service"]
        #expect(service?["level"]?.string == level.rawValue)
        #expect(service?["syncing"]?.bool == syncing)
        #expect(service?["actions"]?["purchase"]?.bool == purchase)
        #expect(service?["actions"]?["manageSubscription"]?.bool == manage)
    }

    @Test func theLevelFollowsFromTheAgeOfTheKnowledge() {
        func grade(_ seconds: Int, _ cause: ServiceReason? = nil) -> ServiceGrade {
            .store(age: .seconds(seconds), cause: cause, liveFor: .seconds(5), staleBound: .seconds(3600))
        }
        #expect(grade(5) == ServiceGrade(.s, .current))
        #expect(grade(6) == ServiceGrade(.a, .storeSilent))
        #expect(grade(3600) == ServiceGrade(.a, .storeSilent))
        #expect(grade(3601) == ServiceGrade(.b, .storeSilentTooLong))
        #expect(grade(1, .changePending) == ServiceGrade(.a, .changePending))
        #expect(grade(3601, .storeReplaced) == ServiceGrade(.b, .storeSilentTooLong))
        #expect(ServiceGrade.worse(grade(1), AppleHealth.degraded.grade) == ServiceGrade(.a, .appleSlow))
        #expect(ServiceGrade.worse(grade(6), AppleHealth.degraded.grade) == ServiceGrade(.a, .storeSilent))
        #expect(ServiceGrade.worse(grade(6), AppleHealth.unreachable.grade) == ServiceGrade(.b, .appleUnreachable))
    }

    @Test func aStreamTellsWhetherAReaderMissedAnything() throws {
        func extent(_ first: String?, _ last: String, length: Int64, added: Int64) -> StreamExtent {
            StreamExtent(
                .array([
                    .bulk(Array("length".utf8)), .integer(length), .bulk(Array("last-generated-id".utf8)),
                    .bulk(Array(last.utf8)), .bulk(Array("entries-added".utf8)), .integer(added),
                    .bulk(Array("first-entry".utf8)),
                    first.map { .array([.bulk(Array($0.utf8)), .array([])]) } ?? .null,
                ]))
        }
        let position = try #require(StreamPosition("20-3"))
        #expect(extent("5-0", "30-0", length: 9, added: 9).continuity(from: position) == .unbroken)
        #expect(extent("20-3", "30-0", length: 3, added: 9).continuity(from: position) == .unbroken)
        #expect(extent("20-4", "30-0", length: 3, added: 9).continuity(from: position) == .trimmed)
        #expect(extent(nil, "20-3", length: 0, added: 9).continuity(from: position) == .unbroken)
        #expect(extent(nil, "20-4", length: 0, added: 9).continuity(from: position) == .trimmed)
        #expect(extent("1-0", "20-2", length: 3, added: 3).continuity(from: position) == .wentBack)
        #expect(StreamExtent(nil).continuity(from: position) == .wentBack)
        #expect(StreamExtent(nil).continuity(from: .beginning) == .unbroken)
        #expect(extent("1-0", "9-0", length: 3, added: 3).continuity(from: .beginning) == .unbroken)
        #expect(extent("5-0", "9-0", length: 3, added: 9).continuity(from: .beginning) == .trimmed)
    }
}
