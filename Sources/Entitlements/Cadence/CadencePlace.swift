import Time

/// The row in which a lineage is at one instant, and since and until when.
struct CadencePlace {
    let row: CadenceRow
    /// What the age counts from; nothing that was heard before it answers the row's question.
    let since: Timestamp
    /// When another row counts by the clock alone.
    var until: Timestamp?
    /// The length of the period that it is about.
    var period: Duration?

    /// So long Apple tries to charge a subscription.
    static let retryTime = Duration.days(60)
    /// After so long nobody is told of a consumable's refund by asking.
    private static let consumableTime = Duration.days(90)
    /// From here on a period is a long one.
    private static let longPeriod = Duration.days(60)

    /// Nil when nobody needs to ask any more.
    ///
    /// - Parameters:
    ///   - known: When Apple signed what is known, the first of it.
    ///   - heard: When Apple signed what was heard last.
    init?(
        _ evaluation: LineageEvaluation, of current: CurrentPeriod?, at instant: Timestamp, known: Timestamp,
        heard: Timestamp
    ) {
        let begin = current?.transaction.purchaseDate ?? heard
        let end = evaluation.validUntil ?? evaluation.expiresAt ?? begin
        let length = current.flatMap(Self.length)
        func place(_ row: CadenceRow, since: Timestamp, until: Timestamp? = nil) -> CadencePlace? {
            let fading = evaluation.access ? nil : row.terms.fades.map { since + $0 }
            if let fading, instant >= fading { return nil }
            return CadencePlace(
                row: row, since: since, until: [until, fading].compactMap(\.self).min(), period: length)
        }
        let found: CadencePlace?
        switch evaluation.state {
        case .hold: found = place(.hold, since: evaluation.expiresAt ?? begin)
        case .gracePeriod:
            // The grace period itself is what ends soon, not the period before it.
            let begun = evaluation.expiresAt ?? begin
            found = Self.beforeEnd(.grace, at: instant, begun: begun, end: end, of: length, place)
        case .billingRetry: found = Self.retry(at: instant, lost: end, heard: heard, place)
        case .active where evaluation.kind != .autoRenewable:
            let consumed = evaluation.kind == .consumable ? begin + Self.consumableTime : nil
            if let consumed, instant >= consumed { return nil }
            found = place(.oneTime, since: begin, until: consumed)
        case .active where evaluation.pendingVerification: found = place(.unverified, since: begin)
        case .active: found = Self.running(at: instant, begin: begin, end: end, place)
        case .canceled: found = Self.beforeEnd(.canceled, at: instant, begun: begin, end: end, of: length, place)
        case .revoked: found = place(.revoked, since: end)
        case .expired where evaluation.reason == .noTransaction || evaluation.reason == .notBegun:
            found = place(.unverified, since: known)
        case .expired where evaluation.pendingVerification: found = place(.unverified, since: min(end, instant))
        // Nothing that was bought once comes back after its time.
        case .expired where evaluation.kind != .autoRenewable: return nil
        case .expired: found = place(heard < end ? .ended : .expired, since: end)
        }
        guard let found else { return nil }
        self = found
    }

    private init(row: CadenceRow, since: Timestamp, until: Timestamp?, period: Duration?) {
        self.row = row
        self.since = since
        self.until = until
        self.period = period
    }

    private typealias Placing = (CadenceRow, Timestamp, Timestamp?) -> CadencePlace?

    private static func running(
        at instant: Timestamp, begin: Timestamp, end: Timestamp, _ place: Placing
    ) -> CadencePlace? {
        let length = max(.zero, end - begin)
        let freshUntil = begin + min(.days(7), length / 4)
        let endingFrom = end - min(.days(3), length / 5)
        if instant < freshUntil { return place(.fresh, begin, freshUntil) }
        if instant >= endingFrom { return place(.ending, endingFrom, end) }
        return place(length > longPeriod ? .long : .running, begin, endingFrom)
    }

    /// Before an end that takes access there is a last look.
    private static func beforeEnd(
        _ row: CadenceRow, at instant: Timestamp, begun: Timestamp, end: Timestamp, of length: Duration?,
        _ place: Placing
    ) -> CadencePlace? {
        let terms = CadenceRow.lastLook.terms
        let whole = min(length ?? .days(30), max(.zero, end - begun))
        let look = end - min(terms.every, whole / (terms.part ?? 1))
        return instant < look ? place(row, begun, look) : place(.lastLook, look, end)
    }

    private static func retry(
        at instant: Timestamp, lost: Timestamp, heard: Timestamp, _ place: Placing
    ) -> CadencePlace? {
        if heard < lost { return place(.ended, lost, nil) }
        let over = lost + retryTime
        if instant < over { return place(.retry, lost, over) }
        return place(heard < over ? .ended : .expired, over, nil)
    }

    private static func length(of period: CurrentPeriod) -> Duration? {
        period.end.map { max(.milliseconds(1), $0 - period.transaction.purchaseDate) }
    }
}

extension CadencePlace {
    /// When Apple is to be asked, if nothing is heard any more; nil when it was, and that was enough.
    func due(heard: Timestamp, failed: Timestamp?, jitter: Double) -> Timestamp? {
        let (wait, pause) = (interval(heard: heard), pause(heard: heard))
        if row == .lastLook {
            if heard >= since { return nil }
            if let failed, failed >= since { return failed + pause }
            return since + wait * (jitter / 4)
        }
        if let failed, failed >= heard { return failed + pause }
        return max(heard, since) + wait * (1 - jitter / 5)
    }

    /// The time from what was heard to the next check, before jitter.
    func interval(heard: Timestamp) -> Duration {
        let terms = row.terms
        var wait = terms.every
        if let part = terms.part, let period { wait = min(wait, max(Self.least, period / part)) }
        if let growth = terms.growth { wait = max(wait, min(.days(400), heard - since) / growth) }
        return min(wait, terms.most ?? wait)
    }

    /// After Apple did not answer.
    private func pause(heard: Timestamp) -> Duration {
        min(.hours(1), max(interval(heard: heard) / 4, min(.seconds(30), (period ?? .days(30)) / 20), Self.least))
    }

    /// However short a period is.
    private static let least = Duration.milliseconds(500)
}
