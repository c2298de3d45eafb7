import CacheTier
import Entitlements
import TestSupport
import Time

/// Day numbers instead of dates, so that a test reads like the timeline it tells.
func day(_ number: Int) -> Timestamp { Timestamp(milliseconds: 1_750_000_000_000 + Int64(number) * 86_400_000) }

let anna = "00000000-0000-4000-8000-00000000000a"
let ben = "00000000-0000-4000-8000-00000000000b"
let carl = "00000000-0000-4000-8000-00000000000c"

let products = ProductMap(
    version: "1",
    products: [
        "basic": .init(entitlements: ["basic"], group: "g", level: 2),
        "pro": .init(entitlements: ["basic", "pro"], group: "g", level: 1),
    ])

/// One app of a test's own: what it stores on a shared server cannot meet what others store there.
struct TestApp {
    let id: AppID
    init(_ purpose: String = "app") { id = AppID(RedisServer.uniqueApp(purpose)) }

    func lineage(_ id: String = "1000", _ environment: StoreEnvironment = .production) -> LineageID {
        LineageID(app: self.id, environment: environment, originalTransactionID: id)
    }

    func key(_ customer: String, _ environment: StoreEnvironment = .production) -> CustomerKey {
        CustomerKey(app: id, environment: environment, customer: customer)
    }

    func rules(
        _ policy: TransferPolicy = .keep, limit: Int = 3, map: ProductMap = products
    ) -> [AppID: StoreRules] {
        [id: StoreRules(transfers: TransferRules(policy: policy, limit: limit)) { map }]
    }

    /// A month paid from one day to another, signed when it began unless said otherwise.
    func period(
        _ transaction: String = "1", of lineage: LineageID? = nil, from: Int = 0, to: Int = 30, signed: Int? = nil,
        product: String = "basic", token: String? = anna, revoked: Int? = nil
    ) -> Observation {
        let lineage = lineage ?? self.lineage()
        let signed = day(signed ?? from)
        return Observation(
            lineage: lineage, source: .notification, signedDate: signed,
            transaction: TransactionFact(
                transactionID: transaction, originalTransactionID: lineage.originalTransactionID, productID: product,
                signedDate: signed, purchaseDate: day(from), expiresDate: day(to),
                type: "Auto-Renewable Subscription", subscriptionGroupID: "g", appAccountToken: token,
                ownership: "PURCHASED", revocationDate: revoked.map { day($0) },
                payloadHash: "\(transaction)-\(signed.milliseconds)-\(token ?? "")"))
    }

    func renewal(of lineage: LineageID? = nil, signed: Int, on: Bool = true) -> Observation {
        let lineage = lineage ?? self.lineage()
        return Observation(
            lineage: lineage, source: .notification, signedDate: day(signed),
            renewal: RenewalFact(
                originalTransactionID: lineage.originalTransactionID, signedDate: day(signed),
                autoRenewProductID: "basic", autoRenewStatus: on ? 1 : 0, payloadHash: "renewal-\(signed)"))
    }
}

extension Observation {
    /// The same with a claim that was accepted.
    func claimed(by customer: String, on day: Timestamp, over: String? = nil) -> Observation {
        var copy = self
        copy.claim = ClaimFact(
            customer: customer, claimedAt: day, transactionID: transaction?.transactionID ?? "1", over: over)
        return copy
    }
}

/// What a fold in order makes of the observations, without any store.
func folded(_ observations: [Observation], _ lineage: LineageID) -> LineageRecord {
    var record = LineageRecord(lineage: lineage)
    for observation in observations { record.fold(observation) }
    return record
}
