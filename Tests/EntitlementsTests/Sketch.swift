import Time

@testable import Entitlements

/// Day and hour numbers instead of dates, so that a test reads like the timeline it tells.
func day(_ number: Int, hour: Int = 0) -> Timestamp {
    Timestamp(milliseconds: 1_750_000_000_000 + Int64(number * 24 + hour) * 3_600_000)
}

let lineage = LineageID(app: AppID("demo"), environment: .production, originalTransactionID: "1000")

let map = ProductMap(
    version: "1",
    products: [
        "basic.month": .init(entitlements: ["basic"], group: "g", level: 2),
        "basic.year": .init(entitlements: ["basic"], group: "g", level: 2),
        "pro.month": .init(entitlements: ["basic", "pro"], group: "g", level: 1),
        "forever": .init(entitlements: ["pro"]),
        "season": .init(entitlements: ["basic"], duration: .seconds(90 * 24 * 3600)),
        "pass": .init(entitlements: ["basic"]),
    ])

/// A monthly period from one day to another, signed when it began unless said otherwise.
func period(
    _ id: String, _ product: String = "basic.month", from: Timestamp, to: Timestamp?, signed: Timestamp? = nil,
    type: String? = "Auto-Renewable Subscription", token: String? = nil, ownership: String? = "PURCHASED",
    upgraded: Bool = false, revoked: Timestamp? = nil, revocationType: String? = nil, seats: Int64? = nil
) -> TransactionFact {
    let signed = signed ?? from
    return TransactionFact(
        transactionID: id, originalTransactionID: "1000", productID: product, signedDate: signed, purchaseDate: from,
        expiresDate: to, type: type, subscriptionGroupID: "g", appAccountToken: token, ownership: ownership,
        isUpgraded: upgraded, revocationDate: revoked, revocationType: revocationType, revokedSeatQuantity: seats,
        payloadHash: "\(id)-\(signed.milliseconds)")
}

func renewal(
    signed: Timestamp, on: Bool = true, next: String? = nil, retrying: Bool? = nil, grace: Timestamp? = nil,
    intent: Int64? = nil
) -> RenewalFact {
    RenewalFact(
        originalTransactionID: "1000", signedDate: signed, autoRenewProductID: next, autoRenewStatus: on ? 1 : 0,
        isInBillingRetryPeriod: retrying, gracePeriodExpiresDate: grace, expirationIntent: intent,
        payloadHash: "renewal-\(signed.milliseconds)")
}

func record(
    _ transactions: TransactionFact..., renewal: RenewalFact? = nil, status: Int64? = nil, said: Timestamp? = nil
) -> LineageRecord {
    var record = LineageRecord(lineage: lineage)
    for transaction in transactions { record.fold(observation(transaction: transaction)) }
    record.fold(
        observation(
            renewal: renewal,
            status: status.map { StatusFact(status: $0, signedDate: said ?? renewal?.signedDate ?? day(0)) }))
    return record
}

func observation(
    transaction: TransactionFact? = nil, renewal: RenewalFact? = nil, status: StatusFact? = nil
) -> Observation {
    Observation(
        lineage: lineage, source: .notification,
        signedDate: transaction?.signedDate ?? renewal?.signedDate ?? status?.signedDate ?? day(0),
        transaction: transaction, renewal: renewal, status: status)
}

extension LineageRecord {
    func at(_ instant: Timestamp) -> LineageEvaluation { evaluated(at: instant, map: map) }
}

/// Folds one observation and says whether it changed anything (`#expect` cannot call what mutates).
func changes(_ record: inout LineageRecord, _ observation: Observation) -> Bool { record.fold(observation) }
