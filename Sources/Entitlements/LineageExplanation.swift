package import Time

/// The evidence about one lineage: what was found, in the order in which it is asked, the rules, and the facts by the date
/// on which Apple signed them.
package struct LineageExplanation: Sendable, Hashable {
    /// One question and what was found.
    package struct Finding: Sendable, Hashable {
        package let about: String
        package let finding: String
    }

    /// One thing that Apple signed.
    package struct Fact: Sendable, Hashable {
        package enum Kind: String, Sendable { case transaction, renewal, status, owner }

        package let kind: Kind
        package let signedDate: Timestamp
        package let text: String
        /// Whether it is about the period that counts, and so made the answer what it is.
        package let isDecisive: Bool
    }

    package let evaluation: LineageEvaluation
    /// The customer whom Apple's signed data names; nil while unclaimed.
    package let customer: String?
    package let findings: [Finding]
    /// The rules that bear on the answer, in the order of their table; `evaluation.rule` is the one that decided.
    package let rules: [Rule]
    package let facts: [Fact]
    /// What happened up to then, oldest first; nil when it was not asked for.
    package let history: [HistoryEntry]?

    init(
        of record: LineageRecord, evaluation: LineageEvaluation, at instant: Timestamp, map: ProductMap,
        policy: EvaluationPolicy, history: [HistoryEntry]?
    ) {
        self.evaluation = evaluation
        self.history = history.map { record.timeline($0, until: instant, map: map, policy: policy) }
        customer = record.customer
        let period = CurrentPeriod(of: record.transactions, at: instant, map: map)
        let news = period.map { AppleNews(of: record, about: $0, at: instant) }
        var inquiry = Inquiry(record: record, instant: instant, map: map, policy: policy)
        inquiry.ask(period, news, evaluation)
        findings = inquiry.findings
        rules = record.rulesAtWork(on: evaluation, period, at: instant)
        facts = Self.facts(of: record, period: period, news: news)
    }

    private static func facts(of record: LineageRecord, period: CurrentPeriod?, news: AppleNews?) -> [Fact] {
        var facts = record.transactions.map { transaction in
            Fact(
                kind: .transaction, signedDate: transaction.signedDate, text: transaction.sentence,
                isDecisive: transaction.transactionID == period?.transaction.transactionID)
        }
        if let renewal = record.renewal {
            facts.append(
                Fact(
                    kind: .renewal, signedDate: renewal.signedDate, text: renewal.sentence,
                    isDecisive: news?.renewal != nil))
        }
        if let status = record.status {
            facts.append(
                Fact(
                    kind: .status, signedDate: status.signedDate, text: status.sentence,
                    isDecisive: news?.status != nil))
        }
        if let owner = record.owner {
            facts.append(
                Fact(
                    kind: .owner, signedDate: owner.signedDate, text: "appAccountToken \(owner.customer)",
                    isDecisive: true))
        }
        return facts.sorted { ($0.signedDate, $0.kind.rawValue, $0.text) < ($1.signedDate, $1.kind.rawValue, $1.text) }
    }
}

/// Asks what the rules ask, one after the other, and notes what was found.
private struct Inquiry {
    let record: LineageRecord
    let instant: Timestamp
    let map: ProductMap
    let policy: EvaluationPolicy
    var findings: [LineageExplanation.Finding] = []

    private mutating func note(_ about: String, _ finding: String) {
        findings.append(.init(about: about, finding: finding))
    }

    mutating func ask(_ period: CurrentPeriod?, _ news: AppleNews?, _ evaluation: LineageEvaluation) {
        let later = record.transactions.filter { $0.purchaseDate > instant }.count
        if later > 0 { note("periods not begun", "\(later) begin later and do not count yet") }
        guard let period, let news else {
            note("period that counts", "none: \(evaluation.reason.sentence)")
            return
        }
        let transaction = period.transaction
        note("period that counts", "the newest that has begun: \(transaction.sentence)")
        askWhetherItStands(period, news)
        if period.kind == .autoRenewable, evaluation.state != .revoked, evaluation.reason != .upgraded {
            askHowItGoesOn(period, news, evaluation)
        }
        note("state", "\(evaluation.state.rawValue): \(evaluation.reason.sentence)")
        askTheMap(transaction.productID)
        if evaluation.pendingVerification {
            note("to be verified", "what is known cannot be all there is: Apple is to be asked")
        }
        if let change = evaluation.nextChangeAt, let state = evaluation.nextState {
            note("next change", "\(change.rfc3339), to \(state.rawValue), unless Apple says something new")
        }
    }

    private mutating func askWhetherItStands(_ period: CurrentPeriod, _ news: AppleNews) {
        if period.transaction.isUpgraded { note("upgraded", "Apple marked it as upgraded: it gives nothing") }
        if let revocation = period.revocation {
            let begun = revocation.date <= instant ? "taken back" : "will be taken back"
            note("revocation", "\(begun) at \(revocation.date.rfc3339), \(revocation.type ?? "refund")")
        } else if news.revocation(of: period) != nil {
            note("revocation", "Apple's status says revoked")
        } else {
            note("revocation", "none")
        }
    }

    private mutating func askHowItGoesOn(
        _ period: CurrentPeriod, _ news: AppleNews, _ evaluation: LineageEvaluation
    ) {
        let setting =
            news.renewal?.autoRenewStatus == nil ? "on, as nothing else is known" : news.autoRenews ? "on" : "off"
        note("automatic renewal", setting)
        guard let end = period.end, instant >= end else { return }
        switch news.word(since: end) {
        case .grace(let until): note("Apple's word since the end", "a grace period until \(until.rfc3339)")
        case .billingRetry: note("Apple's word since the end", "it tries to charge again")
        case .expired: note("Apple's word since the end", "expired")
        case .active: note("Apple's word since the end", "active, but the new period has not been seen")
        case nil: note("Apple's word since the end", "none")
        }
        if evaluation.state == .hold || evaluation.reason == .noWordFromApple {
            note("hold", "a payer is served without word until \((end + policy.holdBound).rfc3339) at most")
        }
    }

    private mutating func askTheMap(_ productID: String) {
        let given = map[productID].map { product in
            product.entitlements.isEmpty
                ? "gives nothing" : "gives " + product.entitlements.sorted().joined(separator: ", ")
        }
        note("product map", "version \(map.version): \(productID) \(given ?? "is not in it, so it gives nothing")")
    }
}
