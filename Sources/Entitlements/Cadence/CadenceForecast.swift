package import Time

/// How many questions the cadence comes to: of a lineage that is there, and of a million that are not.
package enum CadenceForecast {
    /// Questions about a lineage within `span`, if nothing but Apple's answers is heard and they bring nothing new; what
    /// comes after an end is Apple's word, so one question is counted there.
    package static func questions(
        about record: LineageRecord, map: ProductMap, policy: EvaluationPolicy = .standard, from now: Timestamp,
        within span: Duration
    ) -> Int {
        let present = Cadence.row(of: record, map: map, policy: policy, at: now)
        var (count, instant) = (0, now)
        var asked: Cadence.Asked?
        while count < most,
            let next = Cadence.next(for: record, map: map, policy: policy, at: instant, asked: asked),
            next.at < now + span
        {
            count += 1
            if next.urgency == .access, next.row != present { break }
            (instant, asked) = (next.at, .answered(next.at))
        }
        return count
    }

    private static let most = 500

    /// A plan that a sample of subscriptions has.
    package struct Plan: Sendable, Hashable {
        package let name: String
        package let days: Int64
        package let renews: Bool

        package static let all = [
            Plan(name: "monthly", days: 30, renews: true), Plan(name: "yearly", days: 365, renews: true),
            Plan(name: "weekly", days: 7, renews: true), Plan(name: "monthly, will not renew", days: 30, renews: false),
        ]
    }

    /// Questions a day about one subscription of a plan: the mean over a thousand, evenly spread over the period. Each was
    /// heard of last when it began, and is followed through its whole period.
    package static func questionsPerDay(_ plan: Plan) -> Double {
        let app = AppID("plan")
        let begin = Timestamp(milliseconds: 1_767_225_600_000)
        let end = begin + .days(plan.days)
        let sample = 200
        var total = 0
        for number in 0..<sample {
            let lineage = LineageID(app: app, environment: .production, originalTransactionID: "\(number)")
            var record = LineageRecord(lineage: lineage)
            record.fold(
                Observation(
                    lineage: lineage, source: .notification, signedDate: begin,
                    transaction: TransactionFact(
                        transactionID: "\(number)", originalTransactionID: "\(number)", productID: "plan",
                        signedDate: begin, purchaseDate: begin, expiresDate: end, payloadHash: ""),
                    renewal: RenewalFact(
                        originalTransactionID: "\(number)", signedDate: begin, autoRenewStatus: plan.renews ? 1 : 0,
                        payloadHash: "")))
            // One that renews is heard of at its end, and begins anew.
            total += questions(
                about: record, map: ProductMap(), from: begin, within: .days(plan.days) + .seconds(60))
        }
        return Double(total) / Double(sample) / Double(plan.days)
    }
}
