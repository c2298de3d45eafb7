import Entitlements
import HTTP
import JSON
import TestSupport
import Testing
import Time

@testable import CacheTier
@testable import Gateway

@Suite("Single purchases, for support", .timeLimit(.minutes(6))) struct LineageRouteTests {
    private let lineage = LineageID(app: AppID("demo"), environment: .sandbox, originalTransactionID: "100")
    private let then = Timestamp(milliseconds: 1_795_448_000_000)

    private var record: LineageRecord {
        var record = LineageRecord(lineage: lineage)
        record.fold(
            Observation(
                lineage: lineage, source: .device, signedDate: then,
                transaction: TransactionFact(
                    transactionID: "100", originalTransactionID: "100", productID: "pro.monthly", signedDate: then,
                    purchaseDate: then, expiresDate: then + .seconds(60), payloadHash: "h"),
                claim: ClaimFact(customer: "anna", claimedAt: then, transactionID: "100")))
        return record
    }

    private func desk(_ body: (PurchaseDesk) async throws -> Void) async throws {
        let desk = try PurchaseDesk()
        defer { desk.end() }
        try await body(desk)
    }

    @Test func whoHasItAndWhatHappenedIsTold() async throws {
        try await desk { desk in
            desk.archive.keep(
                FoundLineage(holders: [.customer("anna")], record: record),
                [
                    HistoryEntry(kind: .transition, at: then, cause: .purchase, to: .active),
                    HistoryEntry(
                        kind: .transition, at: then, cause: .other, from: .revoked, to: .active, isUnexpected: true
                    ),
                    HistoryEntry(kind: .transfer, at: then, cause: .answer, fromCustomer: "bertha", toCustomer: "anna"),
                ])
            let answer = try await desk.get("/v1/apps/demo/lineages/100/history", query: "environment=sandbox")
            #expect(answer.status == 200)
            #expect(answer.json["customers"]?.array?.map(\.string) == ["anna"])
            #expect(answer.json["transactions"]?.int64 == 1)
            #expect(answer.json["state"]?.string != nil)
            #expect(answer.json["unexpected"]?.int64 == 1)
            let history = answer.json["history"]?.array ?? []
            // What time alone made since then is filled in.
            let states = history.map { $0["to"]?.string }
            #expect(states == ["active", "active", nil, "hold", "expired"])
            let unexpected = history.map { $0["unexpected"]?.bool }
            #expect(unexpected == [false, true, false, false, false])
            #expect(history.dropFirst(2).first?["fromCustomer"]?.string == "bertha")
            // Invariant 8: it was read from the store itself, a moment ago.
            let service = answer.json["service"]
            #expect(service?["level"]?.string == "S")
            #expect(service?["source"]?.string == "redis")
            #expect(service?["reason"]?.string == "current")
            #expect(service?["actions"]?["purchase"]?.bool == true)
            check(service?["asOf"]?.string.flatMap { Timestamp(rfc3339: $0) } != nil)
            #expect(answer.headers["Holdfast-Service-Level"] == "S")
            let short = try await desk.get("/v1/apps/demo/lineages/100", query: "environment=sandbox")
            #expect(short.json["service"]?["level"]?.string == "S")
            #expect(short.json["history"] == nil)
            #expect(short.json["claims"]?.array?.first?["customer"]?.string == "anna")
            // Invariant 7: it is not known in production.
            let other = try await desk.get("/v1/apps/demo/lineages/100")
            #expect(other.status == 404 && other.problem == "unknown-lineage")
        }
    }

    @Test func thoseThatNobodyHasAreListedPageByPage() async throws {
        try await desk { desk in
            desk.archive.keep(
                UnclaimedPage(lineages: [UnclaimedLineage(record: record, firstSeen: then)], next: "5_100"))
            let answer = try await desk.get(
                "/v1/apps/demo/unclaimed", query: "environment=sandbox&after=4_99&limit=1")
            #expect(answer.status == 200)
            #expect(answer.json["count"]?.int64 == 1)
            #expect(answer.json["unclaimed"]?.array?.first?["originalTransactionId"]?.string == "100")
            #expect(answer.json["unclaimed"]?.array?.first?["firstSeen"]?.string == then.rfc3339)
            #expect(answer.json["next"]?.string == "5_100")
            #expect(desk.archive.asked == ["demo sandbox 4_99 1"])
            for query in ["limit=0", "limit=1001", "limit=x", "after=", "at=2026-01-01T00:00:00Z"] {
                #expect(try await desk.get("/v1/apps/demo/unclaimed", query: query).problem == "bad-parameter")
            }
        }
    }

    @Test(arguments: ["/v1/apps/demo/unclaimed", "/v1/apps/demo/lineages/100", "/v1/apps/demo/lineages/100/history"])
    func onlySupportIsTold(path: String) async throws {
        try await desk { desk in
            for key in ["reader-reader-reader", "writer-writer-writer"] {
                #expect(try await desk.get(path, key: key).problem == "missing-scope")
            }
            #expect(try await desk.get(path, key: nil).status == 401)
            #expect(try await desk.send("POST", path, key: nil).headers["Allow"] == "GET")
            desk.archive.goAway()
            let answer = try await desk.get(path)
            #expect(answer.status == 503 && answer.problem == "store-unreachable")
        }
    }

    @Test func otherPathsAreNothing() async throws {
        try await desk { desk in
            for path in [
                "/v1/apps/demo", "/v1/apps/demo/lineages", "/v1/apps/demo/lineages/", "/v1/apps/demo/unclaimed/1",
                "/v1/apps/demo/lineages/1/other", "/v1/apps/demo/lineages/1/history/2", "/v1/other/demo/unclaimed",
            ] {
                let status = try await desk.get(path).status
                #expect(status == 404, "\(path)")
            }
        }
    }
}
