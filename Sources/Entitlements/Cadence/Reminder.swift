package import Time

/// That an end is near at which a purchase will not renew by itself: said 7 days, 3 days and 24 hours before it.
///
/// A pure function of what is known of the lineage. A lead of more than half of the period is left out, since it would
/// come with the purchase. A period of less than two days, which only Apple's test environments have, counts as 30 days,
/// and the leads shrink with it.
package struct Reminder: Sendable, Hashable {
    package enum Lead: String, Sendable, Hashable, CaseIterable {
        case sevenDays = "7d"
        case threeDays = "3d"
        case oneDay = "24h"

        var days: Int64 {
            switch self {
            case .sevenDays: 7
            case .threeDays: 3
            case .oneDay: 1
            }
        }
    }

    package let lead: Lead
    /// When access ends.
    package let end: Timestamp
    /// When it is to be said.
    package let at: Timestamp

    /// The first that lies after `instant`; nil when there is none, because it renews, has no end, or is over.
    package static func next(
        for record: LineageRecord, map: ProductMap, policy: EvaluationPolicy = .standard, after instant: Timestamp
    ) -> Reminder? {
        all(for: record, map: map, policy: policy, at: instant).first { $0.at > instant }
    }

    /// What is to be said now by whoever finds `scheduled` as the time for it: the reminder of that time, or of a later one
    /// that has come meanwhile. Nil when there is none any more, or was scheduled for another end.
    package static func due(
        for record: LineageRecord, map: ProductMap, policy: EvaluationPolicy = .standard, scheduled: Timestamp,
        at now: Timestamp
    ) -> Reminder? {
        let reminders = all(for: record, map: map, policy: policy, at: now).filter { $0.at <= now }
        return reminders.contains { $0.at == scheduled } ? reminders.last : nil
    }

    /// Those before the end of what gives access at `now`, the first one first.
    private static func all(
        for record: LineageRecord, map: ProductMap, policy: EvaluationPolicy, at now: Timestamp
    ) -> [Reminder] {
        // Apple's clock may be ahead of ours: what was signed counts.
        let instant = max(now, record.lastSigned ?? now)
        let evaluation = record.evaluated(at: instant, map: map, policy: policy)
        let ends = evaluation.state == .canceled || evaluation.state == .active && evaluation.kind != .autoRenewable
        guard ends, let end = evaluation.validUntil, end > instant,
            let begin = CurrentPeriod(of: record.transactions, at: instant, map: map)?.transaction.purchaseDate,
            // What follows may have been bought already.
            !record.evaluated(at: end, map: map, policy: policy).access
        else { return [] }
        let length = max(.zero, end - begin)
        return Lead.allCases.compactMap { lead in
            let time = length < .days(2) ? length * lead.days / 30 : .days(lead.days)
            guard time <= length / 2 else { return nil }
            return Reminder(lead: lead, end: end, at: end - time)
        }
    }
}
