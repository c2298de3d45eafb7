import CacheTier
import Entitlements
import JSON
import Runtime
import Testing
import Time

@testable import Holdfast

/// How long a payer is served while there is no word from Apple, from the settings to the answer.
struct HoldBoundTests {
    private let end = Timestamp(milliseconds: 1_796_000_000_000)

    private func record(of app: AppID) -> LineageRecord {
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: "1000")
        let signed = end - .seconds(30 * 86_400)
        var record = LineageRecord(lineage: lineage)
        record.fold(
            Observation(
                lineage: lineage, source: .notification, signedDate: signed,
                transaction: TransactionFact(
                    transactionID: "1", originalTransactionID: "1000", productID: "pro", signedDate: signed,
                    purchaseDate: signed, expiresDate: end, type: "Auto-Renewable Subscription", payloadHash: "t"),
                renewal: RenewalFact(
                    originalTransactionID: "1000", signedDate: signed, autoRenewProductID: "pro", autoRenewStatus: 1,
                    payloadHash: "r")))
        return record
    }

    @Test(
        "Invariant 5: each app's holdBound is a setting, and counts to the millisecond",
        arguments: [("plain", Duration.seconds(86_400)), ("patient", .seconds(36 * 3600)), ("none", .zero)])
    func eachAppHasItsBound(_ name: String, _ bound: Duration) throws {
        let app = #"{"bundleId":"com.example.a","appAppleId":1"#
        let text = """
            {"apps": {"plain": \(app)}, "patient": \(app),"holdBound":"36h"}, "none": \(app),"holdBound":"0s"}}}
            """
        var reader = SettingsReader(file: try JSONValue.parse(Array(text.utf8)), environment: [:])
        let settings = HoldfastSettings(&reader)
        try reader.finish()
        let id = AppID(name)
        let rules = try #require(settings.rules[id])
        #expect(rules.policy.holdBound == bound)
        let record = record(of: id)
        func state(_ instant: Timestamp) -> (LineageState, Bool) {
            let evaluation = record.evaluated(at: instant, map: rules.products, policy: rules.policy)
            return (evaluation.state, evaluation.access)
        }
        let millisecond = Duration.milliseconds(1)
        #expect(state(end - millisecond) == (.active, true))
        if bound > .zero {
            #expect(state(end) == (.hold, true))
            #expect(state(end + bound - millisecond) == (.hold, true))
        }
        #expect(state(end + bound) == (.expired, false))
    }
}
