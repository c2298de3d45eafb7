import AppStore
import Entitlements
import JSON
import TestSupport
import Testing
import Time

/// What Apple answers is compared with what was known, field by field.
@Suite("Drift") struct DriftTests {
    private static let lineage = LineageID(app: AppID("demo"), environment: .production, originalTransactionID: "100")
    private static let day = Duration.seconds(86_400)
    private static let began = Timestamp(milliseconds: 1_764_000_000_000)
    private static let later = began + day * 10

    private func period(
        _ id: String = "100", from: Timestamp = began, product: String = "pro.month", signed: Timestamp = began,
        _ change: (inout TransactionFact) -> Void = { _ in }
    ) -> TransactionFact {
        var fact = TransactionFact(
            transactionID: id, originalTransactionID: "100", productID: product, signedDate: signed,
            purchaseDate: from, expiresDate: from + Self.day * 30, type: "Auto-Renewable Subscription",
            payloadHash: "\(id) \(signed.milliseconds)")
        change(&fact)
        return fact
    }

    private func renewal(
        signed: Timestamp = began, _ change: (inout RenewalFact) -> Void = { _ in }
    ) -> RenewalFact {
        var fact = RenewalFact(
            originalTransactionID: "100", signedDate: signed, productID: "pro.month", autoRenewProductID: "pro.month",
            autoRenewStatus: 1, payloadHash: "\(signed.milliseconds)")
        change(&fact)
        return fact
    }

    private func observation(
        _ transaction: TransactionFact?, _ renewal: RenewalFact? = nil, status: Int64? = nil, at signed: Timestamp
    ) -> Observation {
        Observation(
            lineage: Self.lineage, source: .status, signedDate: signed, transaction: transaction, renewal: renewal,
            status: status.map { StatusFact(status: $0, signedDate: signed) })
    }

    private var known: LineageRecord {
        var record = LineageRecord(lineage: Self.lineage)
        record.fold(observation(period(), renewal(), status: 1, at: Self.began))
        return record
    }

    private func found(_ answer: Observation) -> [Drift.Difference] { Drift.found(before: known, answer: answer) }

    @Test func newerSignaturesAloneAreNoDifference() {
        let same = observation(period(signed: Self.later), renewal(signed: Self.later), status: 1, at: Self.later)
        #expect(found(same).isEmpty)
        let older = Self.began - Self.day
        let stale = observation(
            period(signed: older) { $0.revocationDate = older }, renewal(signed: older) { $0.autoRenewStatus = 0 },
            status: 2, at: older)
        #expect(found(stale).isEmpty)
    }

    @Test func aRenewalThatWasNotToldIsTheMatterOfItsNotification() throws {
        let next = period("101", from: Self.began + Self.day * 30, signed: Self.later) {
            $0.transactionReason = "RENEWAL"
        }
        let differences = found(observation(next, renewal(signed: Self.later), status: 1, at: Self.later))
        let one = try #require(differences.first)
        #expect(differences.count == 1)
        #expect(one.field == .transaction)
        #expect(one.tellers == [.didRenew])
        #expect(one.since == Self.began)
        #expect(one.ours?.hasPrefix("100 pro.month until ") == true)
        #expect(one.apples?.hasPrefix("101 pro.month until ") == true)
    }

    @Test func whatWasNeverHeardOfIsToldByItsPurchase() throws {
        let answer = observation(period(), renewal(), status: 1, at: Self.began)
        let differences = Drift.found(before: nil, answer: answer)
        let one = try #require(differences.first)
        #expect(differences.count == 1)
        #expect(one.field == .lineage && one.ours == nil && one.since == nil)
        #expect(one.tellers.first == .subscribed)

        let bought = period {
            $0.type = "Non-Consumable"; $0.expiresDate = nil
        }
        let once = Drift.found(before: nil, answer: observation(bought, at: Self.began))
        #expect(once.map(\.tellers) == [[.oneTimeCharge]])
    }

    @Test func eachFieldIsToldByItsOwnNotification() {
        let date = Self.later
        let cases: [(Drift.Field, NotificationType, Observation)] = [
            (.revocationDate, .refund, observation(period(signed: date) { $0.revocationDate = date }, at: date)),
            (
                .revocationDate, .revoke,
                observation(
                    period(signed: date) {
                        $0.revocationDate = date
                        $0.ownership = "FAMILY_SHARED"
                    }, at: date)
            ),
            (
                .expiresDate, .renewalExtended,
                observation(period(signed: date) { $0.expiresDate = $0.expiresDate.map { $0 + Self.day } }, at: date)
            ),
            (
                .isUpgraded, .didChangeRenewalPreference,
                observation(period(signed: date) { $0.isUpgraded = true }, at: date)
            ),
            (
                .autoRenewStatus, .didChangeRenewalStatus,
                observation(nil, renewal(signed: date) { $0.autoRenewStatus = 0 }, at: date)
            ),
            (
                .autoRenewProductId, .didChangeRenewalPreference,
                observation(nil, renewal(signed: date) { $0.autoRenewProductID = "basic.month" }, at: date)
            ),
            (
                .isInBillingRetryPeriod, .didFailToRenew,
                observation(nil, renewal(signed: date) { $0.isInBillingRetryPeriod = true }, at: date)
            ),
            (
                .gracePeriodExpiresDate, .didFailToRenew,
                observation(nil, renewal(signed: date) { $0.gracePeriodExpiresDate = date + Self.day }, at: date)
            ),
            (
                .expirationIntent, .expired,
                observation(nil, renewal(signed: date) { $0.expirationIntent = 1 }, at: date)
            ),
            (
                .priceIncreaseStatus, .priceIncrease,
                observation(nil, renewal(signed: date) { $0.priceIncreaseStatus = 0 }, at: date)
            ),
            (.status, .expired, observation(nil, status: 2, at: date)),
            (.status, .didFailToRenew, observation(nil, status: 3, at: date)),
            (.status, .refund, observation(nil, status: 5, at: date)),
        ]
        for (field, teller, answer) in cases {
            let differences = found(answer)
            check(differences.map(\.field) == [field], "\(field): \(differences)")
            check(differences.first?.tellers.first == teller, "\(field): \(differences)")
            check(differences.first?.since == Self.began, "\(field)")
        }
    }

    @Test func aReversedRefundIsToldByItsReversal() throws {
        var record = known
        record.fold(observation(period(signed: Self.later) { $0.revocationDate = Self.later }, at: Self.later))
        let again = Self.later + Self.day
        let differences = Drift.found(before: record, answer: observation(period(signed: again), at: again))
        let one = try #require(differences.first)
        #expect(differences.count == 1)
        #expect(one.field == .revocationDate && one.apples == nil)
        #expect(one.tellers == [.refundReversed])
        #expect(one.since == Self.later)
    }

    @Test func whatIsKeptComesBackAsItWas() throws {
        var differences = found(
            observation(nil, renewal(signed: Self.later) { $0.autoRenewStatus = 0 }, status: 2, at: Self.later))
        #expect(differences.count == 2)
        differences[0].cause = .undelivered
        differences[0].notificationUUID = "u-1"
        let drift = Drift(
            id: "statuses-1:100", lineage: Self.lineage, transactionID: "100", purpose: .reconcile,
            foundAt: Self.later, differences: differences, before: .active, after: .expired)
        let back = try #require(Drift(drift.bytes, app: Self.lineage.app))
        #expect(back == drift)
        #expect(back.isAlarming && !back.isExamined)
        #expect(Drift(Array("{}".utf8), app: Self.lineage.app) == nil)
        #expect(Drift(Array("nothing".utf8), app: Self.lineage.app) == nil)
    }
}
