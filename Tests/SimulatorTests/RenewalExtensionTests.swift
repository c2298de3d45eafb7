import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// Renewal dates put off over the Server API.
@Suite(.timeLimit(.minutes(6))) struct RenewalExtensionTests {
    private let good = #"{"extendByDays":30,"extendReasonCode":1,"requestIdentifier":"one"}"#

    private func mass(_ identifier: String, _ more: String = "") -> String {
        #"{"extendByDays":10,"extendReasonCode":3,"requestIdentifier":"\#(identifier)","productId":"premium.monthly"\#(more)}"#
    }

    @Test func aSubscriptionIsExtendedTwiceAYear() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let (account, bought) = try await playground.purchase()
            let id = bought.originalID
            let answer = try await playground.api(.put, "v1/subscriptions/extend/\(id)", good)
            #expect(answer.status == 200)
            #expect(answer.json?["success"]?.bool == true)
            #expect(answer.json?["originalTransactionId"]?.string == id)
            #expect(answer.json?["webOrderLineItemId"]?.string == bought.lineItemID)
            let end = try #require(bought.expiresDate) + Demo.day * 30
            #expect(answer.json?["effectiveDate"]?.int64 == end.milliseconds)
            _ = await playground.deliveries(2)
            #expect(try playground.lastNotification()["notificationType"]?.string == "RENEWAL_EXTENDED")
            #expect(await playground.simulator.truth(of: account).first?.accessUntil == end)

            try await playground.expect(nil, .put, "v1/subscriptions/extend/\(id)", good)
            try await playground.expect(4_030_005, .put, "v1/subscriptions/extend/\(id)", good)
            clock.advance(by: Demo.day * 366)
            try await playground.expect(nil, .put, "v1/subscriptions/extend/\(id)", good)
        }
    }

    @Test(arguments: [
        (#"{"extendByDays":0,"extendReasonCode":1,"requestIdentifier":"a"}"#, 4_000_009),
        (#"{"extendByDays":91,"extendReasonCode":1,"requestIdentifier":"a"}"#, 4_000_009),
        (#"{"extendByDays":"1","extendReasonCode":1,"requestIdentifier":"a"}"#, 4_000_009),
        (#"{"extendByDays":1,"extendReasonCode":4,"requestIdentifier":"a"}"#, 4_000_010),
        (#"{"extendByDays":1,"requestIdentifier":"a"}"#, 4_000_010),
        (#"{"extendByDays":1,"extendReasonCode":1,"requestIdentifier":""}"#, 4_000_011),
        (#"{"extendByDays":1,"extendReasonCode":1}"#, 4_000_011), ("[]", 4_000_000), ("{", 4_000_000),
    ])
    func aBadRequestIsRefused(_ body: String, _ code: Int) async throws {
        try await Playground.with { playground in
            try await playground.expect(code, .put, "v1/subscriptions/extend/123", body)
        }
    }

    @Test func onlyAPaidActiveSubscriptionIsExtended() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            try await playground.expect(4_000_008, .put, "v1/subscriptions/extend/abc", good)
            try await playground.expect(4_040_005, .put, "v1/subscriptions/extend/123", good)
            let trial = try await playground.purchase("trial.monthly").transaction.originalID
            try await playground.expect(4_030_004, .put, "v1/subscriptions/extend/\(trial)", good)
            let lifetime = try await playground.purchase("lifetime").transaction.originalID
            try await playground.expect(4_030_004, .put, "v1/subscriptions/extend/\(lifetime)", good)

            let (owner, shared) = try await playground.purchase("premium.yearly")
            let member = try await playground.simulator.createAccount()
            let events = try await playground.simulator.perform(.share(with: member), for: owner)
            let memberID = try #require(events.last?.notification?.transaction?.originalID)
            try await playground.expect(4_030_007, .put, "v1/subscriptions/extend/\(memberID)", good)
            // The owner's extension is the member's too.
            try await playground.expect(nil, .put, "v1/subscriptions/extend/\(shared.originalID)", good)
            let ends = await playground.simulator.truth().filter { $0.productID == "premium.yearly" }.map(\.accessUntil)
            let later = try #require(shared.expiresDate) + Demo.day * 30
            #expect(ends == [later, later])

            let (payer, failing) = try await playground.purchase()
            try await playground.simulator.perform(.payment(fails: true, grace: true), for: payer)
            clock.advance(by: Demo.day * 31)
            try await playground.expect(4_030_004, .put, "v1/subscriptions/extend/\(failing.originalID)", good)
        }
    }

    @Test func everybodyIsExtendedAndToldOfIt() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await playground.purchase().transaction.originalID) }
            _ = try await playground.purchase("basic.monthly")
            for _ in 0..<2 { try await playground.expect(nil, .put, "v1/subscriptions/extend/\(ids[0])", good) }
            _ = await playground.deliveries(6)
            let identifier = "758883E8-151B-47B7-ABD0-60C4D804C2F5"
            let begun = try await playground.api(
                .post, "v1/subscriptions/extend/mass", mass(identifier, #","storefrontCountryCodes":["USA","CAN"]"#))
            #expect(begun.status == 200)
            #expect(begun.json?["requestIdentifier"]?.string == identifier)
            let path = "v1/subscriptions/extend/mass/premium.monthly/\(identifier)"
            let early = try await playground.api(.get, path)
            #expect(early.json?["complete"]?.bool == false)
            #expect(early.json?["completeDate"] == nil)

            clock.advance(by: .seconds(601))
            let done = try await playground.api(.get, path)
            #expect(done.json?["requestIdentifier"]?.string == identifier)
            #expect(done.json?["complete"]?.bool == true)
            #expect(done.json?["completeDate"]?.int64 == (Demo.start + .seconds(600)).milliseconds)
            #expect(done.json?["succeededCount"]?.int64 == 2)
            #expect(done.json?["failedCount"]?.int64 == 1)
            let names = await playground.simulator.events().filter { $0.result == nil }.map(\.name).suffix(4)
            #expect(
                names.sorted() == [
                    "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE", "RENEWAL_EXTENSION/SUMMARY",
                ])
            #expect(names.last == "RENEWAL_EXTENSION/SUMMARY")
            _ = await playground.deliveries(10)
            let payloads = try playground.receiver.bodies.map {
                try Playground.unchecked(try #require(try JSONValue.parse($0)["signedPayload"]?.string))
            }
            let summaries = payloads.compactMap { $0["summary"] }
            let summary = try #require(summaries.first)
            #expect(summary["productId"]?.string == "premium.monthly")
            #expect(summary["requestIdentifier"]?.string == identifier.lowercased())
            #expect(summary["succeededCount"]?.int64 == 2)
            #expect(summary["failedCount"]?.int64 == 1)
            #expect(summary["bundleId"]?.string == "com.example.demo")
            #expect(summary["storefrontCountryCodes"]?.array?.compactMap(\.string) == ["USA", "CAN"])
            // The same request again changes nothing.
            try await playground.expect(nil, .post, "v1/subscriptions/extend/mass", mass(identifier))
            #expect(try await playground.api(.get, path).json?["succeededCount"]?.int64 == 2)
        }
    }

    @Test func aBadMassRequestIsRefused() async throws {
        try await Playground.with { playground in
            let uuid = "758883e8-151b-47b7-abd0-60c4d804c2f5"
            let path = "v1/subscriptions/extend/mass"
            try await playground.expect(4_000_011, .post, path, mass("not-a-uuid"))
            try await playground.expect(4_000_027, .post, path, mass(uuid, #","storefrontCountryCodes":[]"#))
            try await playground.expect(4_000_028, .post, path, mass(uuid, #","storefrontCountryCodes":["us"]"#))
            try await playground.expect(4_000_028, .post, path, mass(uuid, #","storefrontCountryCodes":"USA""#))
            let nothing =
                #"{"extendByDays":1,"extendReasonCode":0,"requestIdentifier":"\#(uuid)","productId":"lifetime"}"#
            try await playground.expect(4_000_023, .post, path, nothing)
            try await playground.expect(4_000_023, .get, "\(path)/lifetime/\(uuid)")
            try await playground.expect(4_000_011, .get, "\(path)/premium.monthly/one")
            try await playground.expect(4_040_009, .get, "\(path)/premium.monthly/\(uuid)")
        }
    }
}
