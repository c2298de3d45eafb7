import AppStore
import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// What the Server API tells of, and takes about, single purchases.
@Suite(.timeLimit(.minutes(6))) struct TransactionEndpointTests {
    @Test func anAppTransactionIsToldByAnyIdOfTheCustomer() async throws {
        try await Playground.with { playground in
            let (account, bought) = try await playground.purchase("lifetime")
            for id in [bought.id, bought.appTransactionID] {
                let answer = try await playground.api(.get, "v1/transactions/appTransactions/\(id)")
                #expect(answer.status == 200)
                let roots = try TrustedRoots(der: [playground.simulator.identity.authority.rootDER])
                let jws = Array(try #require(answer.json?["signedAppTransactionInfo"]?.string).utf8)
                let payload = try JWSVerifier(roots: roots).verify(
                    jws[...], as: AppTransactionPayload.self, now: playground.now
                ).payload
                #expect(payload.appTransactionID == bought.appTransactionID)
                let json = try Playground.unchecked(String(decoding: jws, as: UTF8.self))
                #expect(json["receiptType"]?.string == "Production")
                #expect(json["appAppleId"]?.int64 == 1_234_567_890)
                #expect(json["originalPurchaseDate"]?.int64 != nil)
            }
            try await playground.simulator.perform(.appTransaction(exists: false), for: account)
            try await playground.expect(4_040_019, .get, "v1/transactions/appTransactions/\(bought.id)")
            try await playground.expect(4_040_010, .get, "v1/transactions/appTransactions/1")
            try await playground.expect(4_000_006, .get, "v1/transactions/appTransactions/x")
        }
    }

    @Test func anAppTransactionIdIsTakenWhereAnyIdIsAndNowhereElse() async throws {
        try await Playground.with { playground in
            let bought = try await playground.purchase().transaction
            let id = bought.appTransactionID
            try await playground.expect(nil, .get, "v1/subscriptions/\(id)")
            try await playground.expect(nil, .get, "v2/history/\(id)")
            try await playground.expect(nil, .get, "v2/refund/lookup/\(id)")
            try await playground.expect(4_000_048, .get, "v1/transactions/\(id)")
            try await playground.expect(4_000_048, .post, "v1/transactions/\(id)/finish")
            try await playground.expect(4_000_048, .put, "v2/transactions/consumption/\(id)", "{}")
        }
    }

    @Test func aFinishedConsumableLeavesTheOldHistoryOnly() async throws {
        try await Playground.with { playground in
            let (account, coins) = try await playground.purchase("coins")
            func ids(_ version: String) async throws -> [String?] {
                let answer = try await playground.api(.get, "\(version)/history/\(coins.id)")
                return try (answer.json?["signedTransactions"]?.array ?? []).map {
                    try playground.payload($0.string)["transactionId"]?.string
                }
            }
            #expect(try await ids("v1") == [coins.id])
            let finished = try await playground.api(.post, "v1/transactions/\(coins.id)/finish")
            #expect(finished.status == 200)
            #expect(finished.json == nil)
            #expect(try await ids("v1") == [])
            #expect(try await ids("v2") == [coins.id])
            try await playground.simulator.perform(.refund(), for: account)
            #expect(try await ids("v1") == [coins.id])
            try await playground.expect(nil, .post, "v1/transactions/\(coins.id)/finish")
            try await playground.expect(4_040_010, .post, "v1/transactions/1/finish")
            try await playground.expect(4_000_006, .post, "v1/transactions/x/finish")
        }
    }

    @Test func aTokenThatIsSetIsInWhatIsSignedFromThenOn() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let (account, bought) = try await playground.purchase(outsideApp: true)
            clock.advance(by: Demo.day * 31)
            let id = bought.originalID
            func tokens() async throws -> [String?] {
                let answer = try await playground.api(.get, "v2/history/\(id)")
                return try (answer.json?["signedTransactions"]?.array ?? []).map {
                    try playground.payload($0.string)
                }.sorted { ($0["purchaseDate"]?.int64 ?? 0) < ($1["purchaseDate"]?.int64 ?? 0) }
                    .map { $0["appAccountToken"]?.string }
            }
            #expect(try await tokens() == [nil, nil])
            let token = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
            let set = try await playground.api(
                .put, "v1/transactions/\(id)/appAccountToken", #"{"appAccountToken":"\#(token)"}"#)
            #expect(set.status == 200)
            #expect(set.json == nil)
            clock.advance(by: Demo.day * 30)
            #expect(try await tokens() == [nil, token.lowercased(), token.lowercased()])
            let status = try await playground.api(.get, "v1/subscriptions/\(id)")
            let last = status.json?["data"]?.array?.first?["lastTransactions"]?.array?.first
            let renewal = try Playground.unchecked(try #require(last?["signedRenewalInfo"]?.string))
            #expect(renewal["appAccountToken"]?.string == token.lowercased())
            // Whose it is in the store does not depend on it.
            #expect(await playground.simulator.truth(of: account).count == 1)
        }
    }

    @Test func aBadTokenOrAnIdThatCannotHaveOneIsRefused() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let (owner, bought) = try await playground.purchase("premium.yearly")
            let member = try await playground.simulator.createAccount()
            let shared = try await playground.simulator.perform(.share(with: member), for: owner)
            let memberID = try #require(shared.last?.notification?.transaction?.id)
            clock.advance(by: Demo.day * 370)
            await playground.simulator.tick()
            let history = try await playground.api(.get, "v2/history/\(bought.id)?sort=DESCENDING")
            let newest = try playground.payload(history.json?["signedTransactions"]?.array?.first?.string)
            let later = try #require(newest["transactionId"]?.string)
            #expect(later != bought.id)
            let good = #"{"appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}"#
            for (id, body, code) in [
                (bought.id, #"{"appAccountToken":"me"}"#, 4_000_183), (bought.id, "{}", 4_000_183),
                (bought.id, "", 4_000_000), (later, good, 4_000_187), (memberID, good, 4_000_185),
                ("1", good, 4_040_010), ("x", good, 4_000_006),
            ] {
                try await playground.expect(code, .put, "v1/transactions/\(id)/appAccountToken", body)
            }
        }
    }

    @Test func anOrderIsFoundByTheNumberOnTheReceipt() async throws {
        try await Playground.with { playground in
            let (account, bought) = try await playground.purchase()
            let page = try await playground.control(.get, "accounts/\(account)")
            let order = try #require(page.json?["transactions"]?.array?.first?["orderId"]?.string)
            let answer = try await playground.api(.get, "v1/lookup/\(order)")
            #expect(answer.json?["status"]?.int64 == 0)
            let signed = try playground.payload(answer.json?["signedTransactions"]?.array?.first?.string)
            #expect(signed["transactionId"]?.string == bought.id)
            for wrong in ["M1", "\(order)0", order.lowercased(), "nothing"] {
                let none = try await playground.api(.get, "v1/lookup/\(wrong)")
                #expect(none.status == 200)
                #expect(none.json?["status"]?.int64 == 1, "\(wrong)")
                #expect(none.json?["signedTransactions"]?.array?.isEmpty == true)
            }
        }
    }

    @Test func refundsArePagedAndWhatCameSinceIsFoundByTheLastRevision() async throws {
        try await Playground.with { playground in
            let account = try await playground.simulator.createAccount()
            var ids: [String] = []
            for _ in 0..<23 { ids.append(try await playground.purchase("coins", by: account).transaction.id) }
            let none = try await playground.api(.get, "v2/refund/lookup/\(ids[0])")
            #expect(none.json?["signedTransactions"]?.array?.isEmpty == true)
            #expect(none.json?["hasMore"]?.bool == false)
            for id in ids.prefix(22) { try await playground.simulator.perform(.refund(transaction: id), for: account) }
            var found: [String?] = []
            var revision = ""
            func next() async throws -> Bool {
                let query = revision.isEmpty ? "" : "?revision=\(revision)"
                let page = try await playground.api(.get, "v2/refund/lookup/\(ids[0])\(query)").json
                found += try (page?["signedTransactions"]?.array ?? []).map {
                    let payload = try playground.payload($0.string)
                    #expect(payload["revocationDate"]?.int64 != nil)
                    return payload["transactionId"]?.string
                }
                revision = try #require(page?["revision"]?.string)
                return page?["hasMore"]?.bool == true
            }
            #expect(try await next())
            #expect(found.count == 20)
            #expect(try await next() == false)
            #expect(found.compactMap(\.self) == Array(ids.prefix(22)))
            try await playground.simulator.perform(.refund(transaction: ids[22]), for: account)
            #expect(try await next() == false)
            #expect(found.compactMap(\.self) == ids)
            try await playground.expect(4_000_005, .get, "v2/refund/lookup/\(ids[0])?revision=x")
            try await playground.expect(4_040_010, .get, "v2/refund/lookup/1")
            try await playground.expect(4_000_006, .get, "v2/refund/lookup/x")
        }
    }

    @Test func theLastRevisionOfAHistoryFindsWhatHasChangedSince() async throws {
        try await Playground.with { playground in
            let (account, first) = try await playground.purchase("coins")
            _ = try await playground.purchase("lifetime", by: account)
            let page = try await playground.api(.get, "v2/history/\(first.id)")
            #expect(page.json?["signedTransactions"]?.array?.count == 2)
            let query = "?revision=\(try #require(page.json?["revision"]?.string))"
            let nothing = try await playground.api(.get, "v2/history/\(first.id)\(query)")
            #expect(nothing.json?["signedTransactions"]?.array?.isEmpty == true)
            try await playground.simulator.perform(.refund(transaction: first.id), for: account)
            let news = try await playground.api(.get, "v2/history/\(first.id)\(query)")
            let signed = try playground.payload(news.json?["signedTransactions"]?.array?.first?.string)
            #expect(signed["transactionId"]?.string == first.id)
            #expect(signed["revocationReason"]?.int64 == 0)
            #expect(news.json?["signedTransactions"]?.array?.count == 1)
        }
    }

    @Test func everyFilterOfTheHistoryHolds() async throws {
        let clock = TestClock()
        try await Playground.with(clock: clock) { playground in
            let (account, coins) = try await playground.purchase("coins")
            clock.advance(by: Demo.day)
            _ = try await playground.purchase("lifetime", by: account)
            _ = try await playground.purchase("premium.monthly", by: account)
            try await playground.simulator.perform(.refund(transaction: coins.id), for: account)
            let later = (Demo.start + .seconds(3600)).milliseconds
            for (query, count) in [
                ("", 3), ("productId=coins", 1), ("productId=coins&productId=lifetime", 2), ("productId=none", 0),
                ("productType=CONSUMABLE", 1), ("productType=NON_CONSUMABLE", 1), ("productType=AUTO_RENEWABLE", 1),
                ("productType=NON_RENEWABLE", 0), ("subscriptionGroupIdentifier=G1", 1),
                ("subscriptionGroupIdentifier=G2", 0), ("inAppOwnershipType=PURCHASED", 3),
                ("inAppOwnershipType=FAMILY_SHARED", 0), ("revoked=true", 1), ("revoked=false", 2),
                ("excludeRevoked=true", 2), ("startDate=\(later)", 2), ("endDate=\(later)", 1),
                ("startDate=\(later)&revoked=true", 0),
            ] {
                let answer = try await playground.api(.get, "v2/history/\(coins.id)?\(query)")
                #expect(answer.json?["signedTransactions"]?.array?.count == count, "\(query)")
            }
            for (query, code) in [
                ("productType=THINGS", 4_000_022), ("productId=", 4_000_023),
                ("subscriptionGroupIdentifier=", 4_000_024), ("inAppOwnershipType=MINE", 4_000_026),
                ("revoked=maybe", 4_000_030), ("excludeRevoked=1", 4_000_025), ("sort=UP", 4_000_021),
                ("startDate=now", 4_000_015), ("startDate=1.5", 4_000_015), ("endDate=x", 4_000_016),
                ("startDate=2&endDate=1", 4_000_013), ("revision=", 4_000_005),
            ] {
                try await playground.expect(code, .get, "v2/history/\(coins.id)?\(query)")
                try await playground.expect(code, .get, "v1/history/\(coins.id)?\(query)")
            }
        }
    }

    @Test func theOtherEnvironmentKnowsNothingOfATransaction() async throws {
        try await Playground.with(StoreSettings(environment: .sandbox, seed: 9)) { sandbox in
            let id = try await sandbox.purchase().transaction.id
            try await sandbox.expect(nil, .get, "v1/transactions/\(id)")
            try await Playground.with { production in
                try await production.expect(4_040_010, .get, "v1/transactions/\(id)")
                try await production.expect(4_040_010, .get, "v1/subscriptions/\(id)")
                let other = try await production.purchase().transaction.id
                try await sandbox.expect(4_040_010, .get, "v1/transactions/\(other)")
            }
        }
    }
}
