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
        var evaluation = state(at: instant, map: map, policy: policy)
        // The result can differ only where one of the instants in the facts is passed: try these in order.
        for point in turningPoints(after: instant, map: map, policy: policy) {
            let then = state(at: point, map: map, policy: policy)
            guard then != evaluation else { continue }
            evaluation.nextChangeAt = point
            evaluation.nextState = then.state
            break
        }
        return evaluation
    }

    /// Every instant after this one at which some rule may decide otherwise, ascending.
    private func turningPoints(after instant: Timestamp, map: ProductMap, policy: EvaluationPolicy) -> [Timestamp] {
        var points: [Timestamp] = []
        func add(_ point: Timestamp?) {
            if let point, point > instant { points.append(point) }
        }
        for transaction in transactions {
            add(transaction.purchaseDate)
            add(transaction.revocationDate)
            let end = transaction.end(by: map)
            add(end)
            add(end.map { $0 + policy.holdBound })
        }
        add(renewal?.signedDate)
        add(renewal?.gracePeriodExpiresDate)
        add(status?.signedDate)
        return points.sorted()
    }

    private func state(at instant: Timestamp, map: ProductMap, policy: EvaluationPolicy) -> LineageEvaluation {
        var evaluation = LineageEvaluation(lineage: lineage)
        guard let period = CurrentPeriod(of: transactions, at: instant, map: map) else {
            if !transactions.isEmpty { evaluation.reason = .notBegun }
            return evaluation
        }
        evaluation.describe(period, map: map)
        let news = AppleNews(of: self, about: period, at: instant)
        if let verdict = period.verdict(at: instant) ?? news.revocation(of: period) {
            evaluation.decide(verdict)
        } else if period.kind == .autoRenewable {
            evaluation.decide(period.renewableVerdict(at: instant, news: news, policy: policy))
            evaluation.describeRenewal(of: period, news: news, map: map)
        } else {
            evaluation.decide(period.oneTimeVerdict(at: instant))
        }
        evaluation.formerEntitlements = formerEntitlements(at: instant, beside: evaluation.entitlements, map: map)
        return evaluation
    }

    /// What earlier products of the lineage gave and the current one does not: a period ends at its own end, at its
    /// revocation, or when the next one begins.
    private func formerEntitlements(
        at instant: Timestamp, beside current: Set<String>, map: ProductMap
    ) -> [String: Timestamp] {
        let begun = transactions.prefix { $0.purchaseDate <= instant }
        var former: [String: Timestamp] = [:]
        for index in begun.indices.dropLast() {
            let (productID, next) = (begun[index].productID, begun[index + 1].purchaseDate)
            for entitlement in map[productID]?.entitlements ?? [] where !current.contains(entitlement) {
                let ends = [begun[index].end(by: map), begun[index].revocationDate, next].compactMap(\.self)
                former[entitlement] = ends.min()
            }
        }
        return former
    }
}

extension LineageEvaluation {
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
        validUntil = verdict.validUntil
        pendingVerification = verdict.pendingVerification
    }

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
