package import Time

/// What a record means at one instant.
///
/// A pure function of record, product map, policy and instant (invariant 4). It is constant between one `nextChangeAt`
/// and the next, so a cached one holds until then.
package struct LineageEvaluation: Sendable, Hashable {
    package let lineage: LineageID
    package internal(set) var kind: PurchaseKind = .unknown
    package internal(set) var state: LineageState = .expired
    package internal(set) var reason: StateReason = .noTransaction
    /// The rule that decided.
    package internal(set) var rule: Rule = .newestPeriod
    /// The product of the current period; nil as long as none has begun.
    package internal(set) var productID: String?
    /// The product after the next renewal; nil once it will not renew (ruling 9).
    package internal(set) var nextProductID: String?
    /// What else than a plain renewal the end of the current period will bring, and when.
    package internal(set) var pendingChange: PendingChange?
    package internal(set) var pendingChangeAt: Timestamp?
    /// The offer that the current period was bought with.
    package internal(set) var offer: Offer?
    /// The offer that the next renewal will use.
    package internal(set) var nextOffer: Offer?
    /// A rise in price that the customer has been told of; nil once there is none ahead.
    package internal(set) var priceIncrease: PriceIncrease?
    /// Seats that are paid and not taken back; nil where Apple counts none.
    package internal(set) var seats: Int64?
    /// The end of the current paid period as Apple signed it (or as the map's duration gives it); nil without an end.
    package internal(set) var expiresAt: Timestamp?
    /// Set while a grace period runs.
    package internal(set) var gracePeriodExpiresAt: Timestamp?
    /// With access: until when it lasts by what is known now; without: when it ended. nil: it does not end.
    package internal(set) var validUntil: Timestamp?
    package internal(set) var willRenew = false
    /// Apple's `inAppOwnershipType`: PURCHASED, FAMILY_SHARED, ASSIGNED.
    package internal(set) var ownership: String?
    /// Whether Apple should be asked: what is known cannot be all there is.
    package internal(set) var pendingVerification = false
    /// What the current product grants by the map, with access or without; empty too when the map does not know it.
    package internal(set) var entitlements: Set<String> = []
    /// Whether the map knows the current product.
    package internal(set) var isMapped = true
    /// Entitlements of earlier products of this lineage that the current one does not give, and when each ended.
    package internal(set) var formerEntitlements: [String: Timestamp] = [:]
    /// The first instant after this one at which any of the above differs if nothing new becomes known.
    package internal(set) var nextChangeAt: Timestamp?
    /// The state at `nextChangeAt`; it may be the same with another product or date.
    package internal(set) var nextState: LineageState?

    package var access: Bool { state.hasAccess }
    /// Whether the current period is free of charge.
    package var isTrial: Bool { offer?.discountType == "FREE_TRIAL" }
    /// Whether somebody else in the family paid.
    package var isFamilyShared: Bool { ownership == "FAMILY_SHARED" }
}

extension LineageRecord {
    /// What the record means at `instant`.
    package func evaluated(
        at instant: Timestamp, map: ProductMap, policy: EvaluationPolicy = .standard
    ) -> LineageEvaluation {
        var stretch = Stretch(of: self, at: instant, map: map, policy: policy)
        let evaluation = stretch.evaluation(at: instant)
        // The result can differ only where an instant in the facts is passed: these are tried in order.
        var passed = instant
        while true {
            for point in stretch.turningPoints(after: passed) {
                let then = stretch.evaluation(at: point)
                guard then == evaluation else { return evaluation.changing(at: point, to: then.state) }
            }
            guard let next = stretch.end else { return evaluation }
            stretch = Stretch(of: self, at: next, map: map, policy: policy)
            let then = stretch.evaluation(at: next)
            guard then == evaluation else { return evaluation.changing(at: next, to: then.state) }
            passed = next
        }
    }
}

/// The time from the beginning of one transaction to that of the next.
///
/// Within it the same period counts, and only that period's own dates and Apple's news can change anything.
private struct Stretch {
    private let record: LineageRecord
    private let policy: EvaluationPolicy
    private let map: ProductMap
    private let period: CurrentPeriod?
    /// What does not depend on the instant.
    private let description: LineageEvaluation
    /// When the next transaction begins.
    let end: Timestamp?

    init(of record: LineageRecord, at instant: Timestamp, map: ProductMap, policy: EvaluationPolicy) {
        self.record = record
        self.policy = policy
        self.map = map
        let begun = record.transactions.countBegun(by: instant)
        end = begun < record.transactions.count ? record.transactions[begun].purchaseDate : nil
        period = CurrentPeriod(of: record.transactions, begun: begun, map: map)
        var description = LineageEvaluation(lineage: record.lineage)
        if let period {
            description.describe(period, map: map)
            description.formerEntitlements = record.transactions.formerEntitlements(
                begun: begun, beside: description.entitlements, map: map)
        } else if !record.transactions.isEmpty {
            description.reason = .notBegun
        }
        self.description = description
    }

    func evaluation(at instant: Timestamp) -> LineageEvaluation {
        guard let period else { return description }
        var evaluation = description
        let news = AppleNews(of: record, about: period, at: instant)
        if let verdict = period.verdict(at: instant) ?? news.revocation(of: period) {
            evaluation.decide(verdict)
        } else if period.kind == .autoRenewable {
            evaluation.decide(period.renewableVerdict(at: instant, news: news, policy: policy))
            evaluation.describeRenewal(of: period, news: news, map: map)
        } else {
            evaluation.decide(period.oneTimeVerdict(at: instant))
        }
        return evaluation
    }

    /// Every instant of the stretch after `passed` at which some rule may decide otherwise, ascending.
    func turningPoints(after passed: Timestamp) -> [Timestamp] {
        guard let period else { return [] }
        let points = [
            period.revocation?.date, period.end, period.end.map { $0 + policy.holdBound }, record.renewal?.signedDate,
            record.renewal?.gracePeriodExpiresDate, record.status?.signedDate,
        ]
        return points.compactMap { point in
            point.flatMap { point in point > passed && end.map { point < $0 } ?? true ? point : nil }
        }.sorted()
    }
}

extension Array where Element == TransactionFact {
    /// What earlier products of the lineage gave and the current one does not: a period ends at its own end, at its
    /// revocation, or when the next one begins.
    fileprivate func formerEntitlements(
        begun: Int, beside current: Set<String>, map: ProductMap
    ) -> [String: Timestamp] {
        var former: [String: Timestamp] = [:]
        var index = 0
        while index + 1 < begun {
            // A run of one product is looked up once, and its last period decides.
            let product = map[self[index].productID]
            while index + 2 < begun, self[index + 1].productID == self[index].productID { index += 1 }
            if let product, !product.entitlements.isSubset(of: current) {
                let ends = [self[index].end(by: map), self[index].revocationDate, self[index + 1].purchaseDate]
                let end = ends.compactMap(\.self).min()
                for entitlement in product.entitlements where !current.contains(entitlement) {
                    former[entitlement] = end
                }
            }
            index += 1
        }
        return former
    }
}

extension LineageEvaluation {
    fileprivate func changing(at instant: Timestamp, to state: LineageState) -> LineageEvaluation {
        var evaluation = self
        evaluation.nextChangeAt = instant
        evaluation.nextState = state
        return evaluation
    }

    fileprivate mutating func describe(_ period: CurrentPeriod, map: ProductMap) {
        kind = period.kind
        productID = period.transaction.productID
        expiresAt = period.end
        ownership = period.transaction.ownership
        offer = Offer(period.transaction)
        seats = period.seats
        let product = map[period.transaction.productID]
        isMapped = product != nil
        entitlements = product?.entitlements ?? []
    }

    fileprivate mutating func decide(_ verdict: Verdict) {
        state = verdict.state
        reason = verdict.reason
        rule = verdict.rule
        validUntil = verdict.validUntil
        pendingVerification = verdict.pendingVerification
    }

    /// `Rule.productChange`: what comes next is told, and counts only once its transaction begins.
    fileprivate mutating func describeRenewal(of period: CurrentPeriod, news: AppleNews, map: ProductMap) {
        guard state != .expired, state != .revoked else { return }
        if state == .gracePeriod { gracePeriodExpiresAt = validUntil }
        willRenew = news.autoRenews
        if willRenew {
            let next = news.renewal?.autoRenewProductID ?? period.transaction.productID
            nextProductID = next
            pendingChange = map.change(from: period.transaction.productID, to: next)
            nextOffer = news.renewal.flatMap(Offer.init)
            priceIncrease = news.renewal.flatMap(PriceIncrease.init)
        } else {
            pendingChange = .cancel
        }
        if pendingChange != nil { pendingChangeAt = period.end }
    }
}
