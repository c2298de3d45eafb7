import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// What a developer says of a purchase that somebody wants money back for.
@Suite(.timeLimit(.minutes(6))) struct ConsumptionTests {
    private static let v1: [(String, String)] = [
        ("accountTenure", "7"), ("appAccountToken", #""""#), ("consumptionStatus", "3"),
        ("customerConsented", "true"), ("deliveryStatus", "0"), ("lifetimeDollarsPurchased", "1"),
        ("lifetimeDollarsRefunded", "0"), ("platform", "1"), ("playTime", "7"), ("refundPreference", "2"),
        ("sampleContentProvided", "false"), ("userStatus", "1"),
    ]

    /// The good first request with one member changed, or left out.
    private func v1(_ name: String? = nil, _ value: String? = nil) -> String {
        let members = Self.v1.map { ($0, $0 == name ? value : $1) }.compactMap { name, value in
            value.map { #""\#(name)":\#($0)"# }
        }
        return "{\(members.joined(separator: ","))}"
    }

    private func v2(_ status: String = "DELIVERED", _ more: String = "") -> String {
        #"{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"\#(status)"\#(more)}"#
    }

    @Test func whatIsSentIsAcceptedAndKept() async throws {
        try await Playground.with { playground in
            let (account, coins) = try await playground.purchase("coins")
            let first = try await playground.api(.put, "v1/transactions/consumption/\(coins.id)", v1())
            #expect(first.status == 202)
            #expect(first.json == nil)
            let second = try await playground.api(
                .put, "v2/transactions/consumption/\(coins.id)",
                v2("DELIVERED", #","consumptionPercentage":50000,"refundPreference":"GRANT_PRORATED""#))
            #expect(second.status == 202)
            #expect(second.json == nil)
            let page = try await playground.control(.get, "accounts/\(account)")
            let kept = page.json?["transactions"]?.array?.first?["consumption"]?.array
            let versions = kept?.map { $0["version"]?.int64 }
            #expect(versions == [1, 2])
            #expect(kept?.last?["body"]?["consumptionPercentage"]?.int64 == 50_000)
        }
    }

    @Test func eachBadFieldOfTheFirstVersionHasItsError() async throws {
        try await Playground.with { playground in
            let coins = try await playground.purchase("coins").transaction
            let path = "v1/transactions/consumption/\(coins.id)"
            for (name, value, code) in [
                ("accountTenure", "8", 4_000_032), ("accountTenure", nil, 4_000_032),
                ("appAccountToken", #""me""#, 4_000_033), ("appAccountToken", "null", 4_000_033),
                ("consumptionStatus", "4", 4_000_034), ("customerConsented", "false", 4_000_035),
                ("customerConsented", nil, 4_000_035), ("deliveryStatus", "6", 4_000_036),
                ("lifetimeDollarsPurchased", "-1", 4_000_037), ("lifetimeDollarsRefunded", "8", 4_000_038),
                ("platform", "3", 4_000_039), ("playTime", "8", 4_000_040),
                ("sampleContentProvided", "1", 4_000_041), ("userStatus", "5", 4_000_042),
                ("refundPreference", "4", 4_000_044),
            ] as [(String, String?, Int)] {
                try await playground.expect(code, .put, path, v1(name, value))
            }
            try await playground.expect(4_000_000, .put, path, "")
            try await playground.expect(nil, .put, path, v1("refundPreference", nil))
            try await playground.expect(
                nil, .put, path, v1("appAccountToken", #""7E3FB20B-4CDB-47CC-936D-99D65F608138""#))
            try await playground.expect(4_040_010, .put, "v1/transactions/consumption/1", v1())
            try await playground.expect(4_000_006, .put, "v1/transactions/consumption/x", v1())
            let lifetime = try await playground.purchase("lifetime").transaction.id
            try await playground.expect(4_000_047, .put, "v1/transactions/consumption/\(lifetime)", v1())
        }
    }

    @Test func eachBadFieldOfTheSecondVersionHasItsError() async throws {
        try await Playground.with { playground in
            let coins = try await playground.purchase("coins").transaction.id
            let path = "v2/transactions/consumption/\(coins)"
            for (body, code) in [
                (#"{"customerConsented":false}"#, 4_000_035), (#"{"customerConsented":true}"#, 4_000_041),
                (#"{"customerConsented":true,"sampleContentProvided":true}"#, 4_000_036),
                (v2("LOST"), 4_000_036), (v2("DELIVERED", #","consumptionPercentage":100001"#), 4_009_901),
                (v2("DELIVERED", #","consumptionPercentage":0.5"#), 4_009_901),
                (v2("UNDELIVERED_OTHER", #","consumptionPercentage":1"#), 4_009_902),
                (v2("DELIVERED", #","refundPreference":"MAYBE""#), 4_000_044),
                (v2("DELIVERED", #","refundPreference":"GRANT_PRORATED""#), 4_009_901),
            ] {
                try await playground.expect(code, .put, path, body)
            }
            for status in [
                "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM",
                "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
            ] {
                try await playground.expect(nil, .put, path, v2(status, #","refundPreference":"DECLINE""#))
            }
            let subscription = try await playground.purchase().transaction.id
            let subscriptionPath = "v2/transactions/consumption/\(subscription)"
            try await playground.expect(
                4_000_209, .put, subscriptionPath, v2("DELIVERED", #","consumptionPercentage":0"#))
            try await playground.expect(
                nil, .put, subscriptionPath, v2("DELIVERED", #","refundPreference":"GRANT_PRORATED""#))
        }
    }

    @Test func nothingIsTakenOfWhatAFamilyShares() async throws {
        try await Playground.with { playground in
            let owner = try await playground.purchase("premium.yearly").account
            let member = try await playground.simulator.createAccount()
            let events = try await playground.simulator.perform(.share(with: member), for: owner)
            let id = try #require(events.last?.notification?.transaction?.id)
            try await playground.expect(4_000_185, .put, "v1/transactions/consumption/\(id)", v1())
            try await playground.expect(4_000_185, .put, "v2/transactions/consumption/\(id)", v2())
        }
    }
}
