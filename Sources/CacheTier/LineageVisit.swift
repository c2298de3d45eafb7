internal import Entitlements
internal import Redis
internal import Time

/// One lineage under an app's rules at one moment: brings its holders to what is known of it.
///
/// A lineage moves between holders in steps, each a compare-and-set on one partition:
///
/// 1. *intend*: the locator notes that the new holders may have copies. An accepted claim is noted by the same step,
///    which is refused when anything began to move since the claim was decided: so of two claims that were decided on
///    the same, one is decided again;
/// 2. *write* the record to every holder, always, so that whoever saw less is refused;
/// 3. *hand*: the locator names the holders, and notes that those before have copies;
/// 4. *remove* the copies from holders that are noted and have it no more;
/// 5. *forget* them.
///
/// So wherever it stops, the locator knows everybody who may have a copy and every claim that was accepted. Visiting the
/// lineage again merges all copies, which loses nothing, and goes through the steps that are left.
struct LineageVisit: Sendable {
    let reader: LineageReader
    let settings: StoreSettings
    let rules: StoreRules
    let cause: TransitionCause
    let now: Timestamp
    /// When an unclaimed lineage was seen first; `now` if that is not known.
    var firstSeen: Timestamp?
    /// Whether an operator insisted on the claim that is the news.
    var isForced = false

    private var link: StoreLink { reader.link }
    private var keys: StoredLineageKeys { reader.keys }
    private var policy: TransferPolicy { rules.transfers.policy }

    /// Sees to it that the holders of `view.record`, and nobody else, have it. Nil when something changed in between.
    ///
    /// - Parameter intended: New holders for whom the first step is done.
    func settle(
        _ view: inout LineageView, news: Observation?, intended: [Holder] = []
    ) async throws(StoreError) -> AppliedChange? {
        var holders = Holder.all(of: view.record, under: policy)
        while let unread = holders.first(where: { view.copies[$0] == nil }) {
            view.take(try await reader.copy(of: unread), of: unread)
            holders = Holder.all(of: view.record, under: policy)
        }
        let held = view.locator.holders
        var change = AppliedChange(
            changed: false, holders: holders, previousHolders: held,
            revisions: view.copies.mapValues(\.revision).filter { holders.contains($0.key) && $0.value > 0 },
            before: view.before, after: view.record)
        // Nothing is known of it and nothing was learnt: no reason to store an empty record.
        let isUnheardOf = view.before == nil && view.record == LineageRecord(lineage: view.lineage)
        let moves = !isUnheardOf && (held != holders || view.locator.news != nil)
        let hasAll = isUnheardOf || holders.allSatisfy { view.copies[$0]?.record == view.record }
        var leftovers = view.suspects

        if moves || !hasAll {
            let gained = holders.filter { !held.contains($0) && !intended.contains($0) }
            if !gained.isEmpty, try await intend(view.locator, gained) == nil { return nil }
            let addition = try await addition(to: view, holders, moves: moves, news)
            let schedule = LineageSchedule(of: view.record, under: rules, at: now)
            for holder in holders {
                guard let copy = view.copies[holder],
                    let revision = try await write(view.record, holder, over: copy, addition, schedule)
                else { return nil }
                change.revisions[holder] = revision
            }
            change.changed = true
            change.entries = addition.entries
            if moves {
                guard let number = try await hand(view.locator, holders) else { return nil }
                for holder in held { leftovers[holder] = number }
            }
        }
        for (holder, number) in leftovers where !holders.contains(holder) {
            guard let copy = view.copies[holder],
                try await write(nil, holder, over: copy, Addition(), LineageSchedule()) != nil
            else { return nil }
            try await forget(holder, number)
            change.changed = true
        }
        return change
    }

    // MARK: History

    /// What a write does to a holder's history.
    private struct Addition {
        var entries: [HistoryEntry] = []
        /// The whole history, in place of what the holder has.
        var whole: [[UInt8]]?

        var arguments: [RedisArgument] { (whole ?? entries.map { $0.encoded() }).map { .bytes($0) } }
    }

    private func addition(
        to view: LineageView, _ holders: [Holder], moves: Bool, _ news: Observation?
    ) async throws(StoreError) -> Addition {
        // In the usual case every holder has what was known, and so the same history.
        let isPlain =
            !moves && view.suspects.isEmpty && view.before != nil
            && holders.allSatisfy { view.copies[$0]?.record == view.before }
        let history =
            isPlain ? try await reader.lastEntries(of: holders[0]) : try await reader.history(of: view.keepers)
        var addition = Addition()
        if view.record != view.before, let news = news ?? view.news {
            addition.entries = HistoryEntry.made(
                by: news, through: cause, before: view.before, after: view.record, verifiedAt: now,
                since: HistoryMark(of: history.entries), map: rules.map, policy: rules.evaluation)
        }
        guard !isPlain else { return addition }
        let (lost, gained) = history.untoldTransfer(from: view.locator.holders, to: holders)
        for index in 0..<max(lost.count, gained.count) {
            let customer = index < gained.count ? gained[index] : nil
            addition.entries.append(
                HistoryEntry(
                    kind: .transfer, at: now, cause: cause, detail: reason(customer, view, news),
                    fromCustomer: index < lost.count ? lost[index] : nil, toCustomer: customer, news: news))
        }
        addition.whole = history.stored + addition.entries.map { $0.encoded() }
        return addition
    }

    /// Why a customer has a lineage since now.
    private func reason(_ customer: String?, _ view: LineageView, _ news: Observation?) -> String {
        if let customer,
            let claim = view.record.claims.last(where: { Holder.customer($0.customer) == .customer(customer) }),
            view.before?.claims.contains(claim) != true
        {
            return isForced && news?.claim == claim ? HistoryDetail.forced.rawValue : "claim"
        }
        return view.before?.owner != view.record.owner ? "token" : "policy"
    }

    // MARK: Steps

    /// Accepts a claim: notes what is about to be known, and returns the new holders that are to know it. Nil when
    /// anything has begun to move since it was decided.
    func accept(_ news: LineageRecord, _ view: inout LineageView) async throws(StoreError) -> [Holder]? {
        let gained = Holder.all(of: view.record, under: policy).filter { !view.locator.holders.contains($0) }
        let bytes = news.encoded()
        guard try await intend(view.locator, gained, bytes) != nil else { return nil }
        view.locator.news = bytes
        view.accepted = news
        return gained
    }

    private func intend(
        _ seen: LineageLocator, _ gained: [Holder], _ news: [UInt8]? = nil
    ) async throws(StoreError) -> UInt64? {
        try await link.evaluate(
            StoreScripts.intend, keys: [keys.locator],
            arguments: [
                .text(LineageLocator.text(seen.holders)), .text(LineageLocator.text(gained)),
                RedisArgument(seen.number), .bytes(news ?? []),
            ])
    }

    private func hand(_ seen: LineageLocator, _ holders: [Holder]) async throws(StoreError) -> UInt64? {
        try await link.evaluate(
            StoreScripts.hand, keys: [keys.locator],
            arguments: [
                .text(LineageLocator.text(seen.holders)), .text(LineageLocator.text(holders)), .bytes(seen.news ?? []),
            ])
    }

    /// Writes or, with nil, removes; returns the holder's new revision, or nil when the holder's copy is not as seen.
    private func write(
        _ record: LineageRecord?, _ holder: Holder, over copy: HolderCopy, _ addition: Addition,
        _ schedule: LineageSchedule
    ) async throws(StoreError) -> UInt64? {
        let path = keys.path(holder)
        let updates = schedule.updates(
            keys.id, holder, at: path, isStored: record != nil, firstSeen: firstSeen ?? now)
        let names = [StorageLayout.key(path), StorageLayout.changeStream(ofPath: path), keys.history(holder)]
        let arguments: [RedisArgument] = [
            .text(keys.field), .text(copy.seen), .bytes(record?.encoded() ?? []), .text(path),
            RedisArgument(settings.changesKept), addition.whole == nil ? "append" : "replace",
            RedisArgument(settings.historyKept),
        ]
        return try await link.evaluate(
            StoreScripts.write, keys: names + updates.map(\.key),
            arguments: arguments + updates.flatMap(\.arguments) + addition.arguments)
    }

    private func forget(_ holder: Holder, _ number: UInt64) async throws(StoreError) {
        // One that was noted anew since is somebody else's to remove.
        _ = try await link.evaluate(
            StoreScripts.forget, keys: [keys.locator], arguments: [.text(holder.id), RedisArgument(number)])
    }
}
