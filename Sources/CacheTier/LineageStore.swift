package import Entitlements
package import Redis
package import Runtime
package import Time

/// Keeps every lineage in Redis, with the holders that its facts and the app's policy name.
///
/// Applying is idempotent and order-free, and any number of processes may do it at once. `LineageVisit` says how a lineage
/// moves. While it does, two holders have it for an instant: a payer is not left without one for a moment.
package struct LineageStore: Sendable {
    let link: StoreLink
    private let settings: StoreSettings
    private let rules: [AppID: StoreRules]
    private let layout: LayoutGuard
    let metrics: StoreMetrics

    /// An app without rules has the standard ones and no products.
    package init(
        redis: any RedisCommands, settings: StoreSettings = StoreSettings(), rules: [AppID: StoreRules] = [:],
        metrics: Metrics = Metrics()
    ) {
        link = StoreLink(redis: redis)
        self.settings = settings
        self.rules = rules
        self.metrics = StoreMetrics(metrics)
        layout = LayoutGuard(redis: redis)
    }

    /// Founds the store in an empty Redis, and sees whether Redis takes writes, which being connected does not say: it may
    /// be full, a replica, or without its disk. Throws when Redis holds a store of another layout.
    ///
    /// A store that an earlier version filled gets its index of unclaimed lineages here, once.
    package func prepare() async throws(StoreError) {
        try await layout.verify()
        _ = try await link.send("SET", StorageLayout.probeKey, ["1"])
        guard try await link.send("GET", StorageLayout.indexedKey).isNull else { return }
        try await rebuildUnclaimedIndex()
    }

    /// For what is about to be read or written.
    func verifyLayout() async throws(StoreError) { try await layout.verify() }

    // MARK: Writing

    /// Takes in one observation. After it returns, Redis has it on disk (given `appendfsync always`).
    ///
    /// - Parameters:
    ///   - cause: What the news is, for the history.
    ///   - now: When it was verified, for the history.
    package func apply(
        _ observation: Observation, cause: TransitionCause, at now: Timestamp
    ) async throws(StoreError) -> AppliedChange {
        try await layout.verify()
        let visit = visit(observation.lineage, cause, at: now)
        let change = try await untilUncontended { () async throws(StoreError) -> AppliedChange? in
            var view = try await visit.reader.view()
            view.record.fold(observation)
            return try await visit.settle(&view, news: observation)
        }
        (change.changed ? metrics.changed : metrics.unchanged).increment()
        return change
    }

    /// Gives back what was known of a lineage before the store lost it. It is merged: what the store knows besides, or
    /// newer, stays, and who has the lineage follows from both.
    package func merge(_ record: LineageRecord, at now: Timestamp) async throws(StoreError) -> AppliedChange {
        try await layout.verify()
        var visit = visit(record.lineage, .other, at: now)
        // Not now: the list of unclaimed purchases is in the order in which they were seen.
        visit.firstSeen = record.earliestDate
        let change = try await untilUncontended { () async throws(StoreError) -> AppliedChange? in
            var view = try await visit.reader.view()
            view.record.merge(record)
            return try await visit.settle(&view, news: nil)
        }
        (change.changed ? metrics.changed : metrics.unchanged).increment()
        return change
    }

    /// Decides whether a customer gets a lineage of which the customer's backend posted a transaction, and gives it.
    ///
    /// However many claim it at once, each is decided on what the one before left: under `keep` one gets it.
    ///
    /// The change is what was done on the way, which may be the rest of what others had begun; nil when nothing had to
    /// be. It comes with `.alreadyTheirs` too, since the claim that made it theirs may not be in the ledger: its fact is
    /// among the claims of `after`. What is refused is not kept anywhere, `seeing` neither.
    ///
    /// - Parameters:
    ///   - observation: The posted transaction, where the store may not know it: counts for the decision, and is kept
    ///     with the claim.
    ///   - isForced: Whether an operator insists, past the policy and its limits.
    ///   - dryRun: Decides by what is there, and writes nothing.
    package func claim(
        customer: String, lineage: LineageID, transactionID: String, at instant: Timestamp, isForced: Bool = false,
        dryRun: Bool = false, seeing observation: Observation? = nil
    ) async throws(StoreError) -> (ClaimDecision, AppliedChange?) {
        try await layout.verify()
        let customer = CustomerKey(app: lineage.app, environment: lineage.environment, customer: customer).customer
        let visit = visit(lineage, .answer, at: instant)
        var done: AppliedChange?
        let (decision, change) = try await untilUncontended {
            () async throws(StoreError) -> (ClaimDecision, AppliedChange?)? in
            var view = try await visit.reader.view()
            if !dryRun, !view.isSettled(under: visit.rules.transfers.policy) {
                // First what others began: the decision and the count of moves must rest on what is.
                guard let rest = try await visit.settle(&view, news: nil) else { return nil }
                done = rest
                view = try await visit.reader.view()
            }
            if view.copies[.customer(customer)] == nil {
                view.take(try await visit.reader.copy(of: .customer(customer)), of: .customer(customer))
            }
            if let observation { view.record.fold(observation) }
            let decision = try await decide(customer, transactionID, at: instant, isForced, view, visit)
            guard case .accepted(let fact, _) = decision, !dryRun else {
                return (decision, dryRun || decision != .alreadyTheirs ? done : done ?? view.asItIs)
            }
            let news = Observation(
                lineage: lineage, source: .device, signedDate: observation?.signedDate ?? fact.claimedAt,
                transaction: observation?.transaction, renewal: observation?.renewal, status: observation?.status,
                claim: fact)
            var accepted = LineageRecord(lineage: lineage)
            accepted.fold(news)
            view.record.merge(accepted)
            var mine = visit
            mine.isForced = isForced
            guard let gained = try await mine.accept(accepted, &view) else { return nil }
            // It is theirs now, whatever happens to the rest; who comes next would do it.
            if let change = try await mine.settle(&view, news: news, intended: gained) { return (decision, change) }
            return (decision, try await finish(mine, news))
        }
        if let change { (change.changed ? metrics.changed : metrics.unchanged).increment() }
        return (decision, change)
    }

    private func decide(
        _ customer: String, _ transactionID: String, at instant: Timestamp, _ isForced: Bool, _ view: LineageView,
        _ visit: LineageVisit
    ) async throws(StoreError) -> ClaimDecision {
        var history = StoredHistory()
        switch visit.rules.transfers.policy {
        case .transfer, .transferIfInactive: history = try await visit.reader.history(of: view.keepers)
        case .keep, .share: break
        }
        // A clock that is behind the one of the last claim must not make this claim the older one.
        let newest = view.record.claims.last.map { $0.claimedAt + .milliseconds(1) }
        let rules = visit.rules
        let access = view.record.evaluated(at: instant, map: rules.map, policy: rules.evaluation).access
        return ClaimDecision(
            of: customer, transactionID: transactionID, at: max(instant, newest ?? instant), record: view.record,
            access: access, rules: rules.transfers, transfers: history.transfers, isForced: isForced)
    }

    private func finish(_ visit: LineageVisit, _ news: Observation) async throws(StoreError) -> AppliedChange {
        try await untilUncontended { () async throws(StoreError) -> AppliedChange? in
            var view = try await visit.reader.view()
            return try await visit.settle(&view, news: news)
        }
    }

    private func visit(_ lineage: LineageID, _ cause: TransitionCause, at now: Timestamp) -> LineageVisit {
        LineageVisit(
            reader: LineageReader(link: link, keys: StoredLineageKeys(lineage)), settings: settings,
            rules: rules[lineage.app] ?? StoreRules(), cause: cause, now: now)
    }

    /// Tries until nothing changed in between, which each attempt says by a result.
    private func untilUncontended<Result>(
        _ attempt: () async throws(StoreError) -> Result?
    ) async throws(StoreError) -> Result {
        for number in 0..<settings.applyAttempts {
            if let result = try await attempt() { return result }
            metrics.conflicts.increment()
            await pause(afterAttempt: number)
        }
        metrics.contended.increment()
        throw .contended
    }

    /// Every conflict means that somebody else got on, so it is tried again at once first.
    private func pause(afterAttempt attempt: Int) async {
        guard attempt >= 2 else { return }
        // Cancellation cuts the pause short, and the next command will say what it thinks of it.
        try? await Task.sleep(for: .milliseconds(Int.random(in: 1...min(32, 1 << min(attempt, 5)))))
    }
}
