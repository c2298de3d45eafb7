import AppStore
import CacheTier
import Entitlements
import Glibc
import Replay
import Runtime
import Time

/// What `holdfast replay` can be asked to do. Each returns the exit code.
extension ReplaySession {
    func compareLive() async throws -> Int32 {
        let rules = try await rules(needingRedis: true)
        let source = try await source()
        let replayer = replayer(scope)
        var tally = ReplayTally()
        var fold = try await fold(source, replayer, &tally)
        let read = await SourceView(source, since: options.receivedSince)
        guard !tally.isInterrupted else { return interrupted(tally, read, "nothing was compared") }

        let store = LineageStore(redis: redis, settings: settings.store)
        let comparison = LiveComparison(
            store: store,
            comparison: LineageComparison(rules: rules, at: options.at ?? now, ledgerBegins: ledgerBegins(read, tally)),
            policies: Dictionary(uniqueKeysWithValues: settings.apps.map { ($0.id, $0.transfers.policy) }),
            scope: scope, limit: options.limit, interruption: interruption)
        let apps = Set(options.app.map { [$0] } ?? settings.apps.map(\.id))
        var later = ReplayTally()
        var (isLedger, following): (Bool, (any LedgerMessages)?) = (false, nil)
        if case .ledger(let ledger) = source {
            isLedger = true
            // Who names an end wants to compare with that.
            if options.lastOffset == nil, scope.receivedUntil == nil { following = ledger }
        }
        let report = try await comparison.run(
            &fold, scan: LineageScan(redis: redis, apps: apps)
        ) { done, all in
            progress.show("lineages compared", done, share: Double(done) / Double(max(1, all)))
        } catchUp: { fold throws(ReplayError) in
            guard let following else { return [] }
            try await following.extend()
            var touched = Set<LineageID>()
            try await replayer.run(following, tally: &later) { judged throws(ReplayError) in
                for observation in judged.flatMap(\.observations) {
                    try fold.fold(observation)
                    touched.insert(observation.lineage)
                }
            }
            try fold.settle()
            return touched
        } waiting: { () async throws(ReplayError) -> Int in
            isLedger ? try await ledger.waiting() : 0
        }
        progress.end()
        let view = ReplayReport(tally: tally, source: read, outcome: .live(report), lineages: fold.count)
        print(options.asJSON ? view.json : view.text)
        if report.isInterrupted { return ReplayCommand.interrupted }
        return report.differing > 0 ? 1 : 0
    }

    func write(to path: String) async throws -> Int32 {
        let rules = try await rules(needingRedis: false)
        let source = try await source()
        var tally = ReplayTally()
        let fold = try await fold(source, replayer(scope), &tally)
        let read = await SourceView(source, since: options.receivedSince)
        guard !tally.isInterrupted else { return interrupted(tally, read, "\(path) was not written") }
        let instant = options.at ?? now
        try StateFile.write(
            fold,
            StateFile.Origin(
                at: instant, offsets: read.offsets, receivedSince: scope.receivedSince,
                receivedUntil: scope.receivedUntil, messages: tally.messages, lineages: fold.count),
            answers: LineageComparison(rules: rules, at: instant), to: path)
        let view = ReplayReport(tally: tally, source: read, outcome: .written(path), lineages: fold.count)
        print(options.asJSON ? view.json : view.text)
        return 0
    }

    func compare(with path: String) async throws -> Int32 {
        let origin = try StateFile.origin(of: path)
        let rules = try await rules(needingRedis: false)
        var scope = scope
        scope.receivedSince = scope.receivedSince ?? origin.receivedSince
        scope.receivedUntil = scope.receivedUntil ?? origin.receivedUntil
        let source = try await source(through: origin.offsets?.upperBound)
        var tally = ReplayTally()
        let fold = try await fold(source, replayer(scope), &tally)
        let read = await SourceView(source, since: options.receivedSince)
        guard !tally.isInterrupted else { return interrupted(tally, read, "nothing was compared") }
        let result = try StateFile.compare(
            fold, answers: LineageComparison(rules: rules, at: options.at ?? origin.at), with: path,
            limit: options.limit)
        if let theirs = origin.offsets, let ours = read.offsets, theirs != ours {
            Console.error(
                "\(path) was made of the offsets \(theirs.lowerBound) to \(theirs.upperBound), this of "
                    + "\(ours.lowerBound) to \(ours.upperBound): not every difference is the reducer's")
        }
        let view = ReplayReport(tally: tally, source: read, outcome: .state(path, result), lineages: fold.count)
        print(options.asJSON ? view.json : view.text)
        return result.count > 0 ? 1 : 0
    }

    func explain(_ customer: String) async throws -> Int32 {
        let app = try settings.app(named: options.app?.rawValue)
        let instant = options.at ?? options.asKnownAt ?? now
        let environment = options.environment ?? .production
        let map = try await productMap(of: app)
        var scope = scope
        scope.app = app.id
        scope.environment = environment
        let source = try await source()
        var tally = ReplayTally()
        let fold = try await fold(source, replayer(scope), &tally)
        let read = await SourceView(source, since: options.receivedSince)
        guard !tally.isInterrupted else { return interrupted(tally, read, "nothing can be said of \(customer)") }

        let key = CustomerKey(app: app.id, environment: environment, customer: customer)
        var records: [LineageRecord] = []
        for lineage in fold.sortedLineages {
            guard let record = try fold.record(of: lineage) else { continue }
            let holders = record.customers(under: app.transfers.policy)
            if holders.contains(where: { $0.utf8.elementsEqual(key.customer.utf8) }) { records.append(record) }
        }
        let explanation = Explanation(
            of: records, entitlement: options.entitlement, at: instant, map: map.map, policy: app.policy)
        // In the words of `holdfast explain`.
        let words =
            [customer, "--at", instant.rfc3339, "--environment", environment.rawValue]
            + (options.entitlement.map { ["--entitlement", $0] } ?? [])
        let question = try ExplainCommand.Question(
            CommandArguments(words, options: ["at", "environment", "entitlement"]))
        let view = ReplayReport(
            tally: tally, source: read, outcome: .explained(asKnownAt: scope.receivedUntil, map), lineages: fold.count)
        if options.asJSON {
            print(ExplainCommand.json(explanation, question, app, nil) { view.writeKnowledge(to: &$0) })
        } else {
            print("\(ExplainCommand.text(explanation, question, nil))\n\n\(view.text)")
        }
        return explanation.hasAccess ? 0 : 1
    }

    func apply() async throws -> Int32 {
        let applier = Applier(
            store: LineageStore(
                redis: redis, settings: settings.store, rules: storeRules(try await rules(needingRedis: true))),
            now: now, rate: options.rate, interruption: interruption)
        try await applier.prepare()
        let source = try await source()
        var tally = ReplayTally()
        let messages = source.messages
        try await replayer(scope).run(messages, tally: &tally) { tally in
            progress.show("messages applied", tally.messages, share: await messages.share)
        } take: { judged throws(ReplayError) in
            try await applier.apply(judged)
        }
        progress.end()
        let report = await applier.report
        if await applier.isInterrupted { tally.isInterrupted = true }
        let view = ReplayReport(
            tally: tally, source: await SourceView(source, since: options.receivedSince), outcome: .applied(report),
            lineages: nil)
        print(options.asJSON ? view.json : view.text)
        if tally.isInterrupted { return ReplayCommand.interrupted }
        return report.unreadable.isEmpty ? 0 : 1
    }

    func export(to path: String) async throws -> Int32 {
        guard options.files.isEmpty else { throw UsageError("--export reads the ledger, and no files") }
        guard unsafe options.overwrites || access(path, F_OK) != 0 else {
            throw ReplayError.file("\(path) is there already; name another file, or add --overwrite to replace it")
        }
        let source = try await source()
        let messages = source.messages
        let export = try LedgerExport(to: path)
        let isWhole = try await export.run(messages, scope: scope, interruption: interruption) { count in
            progress.show("messages", count, share: await messages.share)
        }
        progress.end()
        var tally = ReplayTally()
        tally.messages = export.count
        let read = await SourceView(source, since: options.receivedSince)
        guard isWhole else {
            tally.isInterrupted = true
            return interrupted(tally, read, "\(path) was not written")
        }
        let view = ReplayReport(tally: tally, source: read, outcome: .exported(path), lineages: nil)
        print(options.asJSON ? view.json : view.text)
        return 0
    }

    // MARK: Steps

    /// What the store must know of each app, with the maps in force now.
    private func storeRules(_ rules: [AppID: AppRules]) -> [AppID: StoreRules] {
        Dictionary(
            uniqueKeysWithValues: settings.apps.map { app in
                let map = rules[app.id]?.products ?? app.map
                return (app.id, StoreRules(transfers: app.transfers, evaluation: app.policy) { map })
            })
    }

    /// When the ledger begins, if something was before: what was signed up to the allowed lead of Apple's clock later may
    /// have come before.
    private func ledgerBegins(_ read: SourceView, _ tally: ReplayTally) -> Timestamp? {
        guard !read.isWhole else { return nil }
        let begins = scope.receivedSince ?? (read.startsLate ? tally.firstReceivedAt : read.begins)
        return begins.map { $0 + settings.appStore.limits.signedAhead }
    }

    private func interrupted(_ tally: ReplayTally, _ read: SourceView, _ consequence: String) -> Int32 {
        progress.end()
        let view = ReplayReport(tally: tally, source: read, outcome: .interrupted(consequence), lineages: nil)
        print(options.asJSON ? view.json : view.text)
        return ReplayCommand.interrupted
    }
}
