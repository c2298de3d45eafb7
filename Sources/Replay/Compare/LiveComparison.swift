package import CacheTier
package import Entitlements

/// Where the live lineages are.
package protocol LiveStore: Sendable {
    func find(_ lineage: LineageID) async throws(StoreError) -> FoundLineage?
}

extension LineageStore: LiveStore {}

/// Compares a fold with the live state, lineage by lineage.
///
/// The live state goes on meanwhile. So what differs at first is looked at again, with what has come into the ledger since,
/// and is called different only when neither side has moved between two looks.
package struct LiveComparison: Sendable {
    private static let rounds = 20
    private static let pause = Duration.milliseconds(250)
    private static let concurrency = 64

    private let store: any LiveStore
    private let comparison: LineageComparison
    private let policies: [AppID: TransferPolicy]
    private let scope: ReplayScope
    private let limit: Int
    private let interruption: Interruption

    /// At most `limit` differences are kept in full. `policies` say who should have a lineage.
    package init(
        store: any LiveStore, comparison: LineageComparison, policies: [AppID: TransferPolicy] = [:],
        scope: ReplayScope = ReplayScope(), limit: Int = 100, interruption: Interruption = Interruption()
    ) {
        self.policies = policies
        self.store = store
        self.comparison = comparison
        self.scope = scope
        self.limit = limit
        self.interruption = interruption
    }

    /// - Parameters:
    ///   - scan: goes through what is live.
    ///   - catchUp: folds what has come into the ledger since and says which lineages that is about.
    ///   - waiting: how many messages wait to be applied.
    package func run(
        _ fold: inout Fold, scan: LineageScan, progress: (Int, Int) async -> Void = { _, _ in },
        catchUp: (inout Fold) async throws(ReplayError) -> Set<LineageID> = { _ in [] },
        waiting: () async throws(ReplayError) -> Int = { 0 }
    ) async throws(ReplayError) -> ComparisonReport {
        var report = ComparisonReport(limit: limit)
        var suspects: [LineageID: Look] = [:]
        var looked = Set<LineageID>()

        // All of the fold, then what is live only.
        let lineages = fold.lineages
        var done = 0
        for start in stride(from: 0, to: lineages.count, by: Self.concurrency) {
            if interruption.isRequested { break }
            let part = Array(lineages[start..<min(start + Self.concurrency, lineages.count)])
            for (lineage, look) in try await look(at: part, fold) where look.difference != nil {
                suspects[lineage] = look
            }
            done += part.count
            await progress(done, lineages.count)
        }
        var (scan, strays) = (scan, Set<LineageScan.Stray>())
        while !interruption.isRequested, let page = try await next(&scan) {
            strays.formUnion(page.strays.filter { scope.holds($0.lineage) })
            let fresh = page.lineages.filter {
                scope.holds($0) && fold.bytes(of: $0) == nil && looked.insert($0).inserted
            }
            for (lineage, look) in try await look(at: fresh, fold) where look.difference != nil {
                suspects[lineage] = look
            }
            done += fresh.count
            await progress(done, max(done, lineages.count))
        }
        report.compared = done
        report.isInterrupted = interruption.isRequested

        // Again and again, until nothing moves any more.
        report.waiting = try await waiting()
        var unsettled: [LineageID: Look] = suspects
        for _ in 0..<Self.rounds where !unsettled.isEmpty && !interruption.isRequested {
            // Cut short by cancellation, the next command says so.
            try? await Task.sleep(for: Self.pause)
            let news = try await catchUp(&fold)
            var next: [LineageID: Look] = [:]
            let again = Array(Set(unsettled.keys).union(news))
            for start in stride(from: 0, to: again.count, by: Self.concurrency) {
                let part = Array(again[start..<min(start + Self.concurrency, again.count)])
                for (lineage, look) in try await look(at: part, fold) {
                    let before = suspects[lineage]
                    suspects[lineage] = look.difference == nil ? nil : look
                    if look.difference != nil, before != look { next[lineage] = look }
                }
            }
            let left = try await waiting()
            // While what waits is being applied, what lacks may be about to come.
            let isMoving = left > 0 && left != report.waiting
            report.waiting = left
            unsettled = isMoving ? suspects : next
        }
        report.unsettled = unsettled.count
        report.compared = max(report.compared, fold.count + suspects.keys.count { fold.bytes(of: $0) == nil })
        report.equal = report.compared - suspects.count
        for (_, look) in suspects.sorted(by: { $0.key.isOrderedBefore($1.key) }) {
            if let difference = look.difference { report.add(difference) }
        }
        for stray in strays.sorted(by: { $0.lineage.isOrderedBefore($1.lineage) }) {
            report.add(
                LineageDifference(stray.lineage, .stray, detail: "\(stray.holder) has a copy that nobody keeps in step")
            )
        }
        return report
    }

    private func next(_ scan: inout LineageScan) async throws(ReplayError) -> LineageScan.Page? {
        do throws(StoreError) { return try await scan.next() } catch { throw .store(error) }
    }

    // MARK: Looking

    /// What was seen of one lineage.
    private struct Look: Hashable {
        var ledger: [UInt8]?
        var live: [UInt8]?
        var holders: [Holder] = []
        var difference: LineageDifference?
    }

    /// Not a tuple: with one as the result of a task group's children, Swift 6.3.1 crashes when it is built for release.
    private struct Live: Sendable {
        let lineage: LineageID
        let found: Result<FoundLineage?, StoreError>
    }

    private func look(at lineages: [LineageID], _ fold: Fold) async throws(ReplayError) -> [(LineageID, Look)] {
        let found = await withTaskGroup(of: Live.self) { [store] group in
            for lineage in lineages {
                group.addTask {
                    do throws(StoreError) {
                        let found = try await store.find(lineage)
                        return Live(lineage: lineage, found: .success(found))
                    } catch { return Live(lineage: lineage, found: .failure(error)) }
                }
            }
            var found: [Live] = []
            for await live in group { found.append(live) }
            return found
        }
        var looks: [(LineageID, Look)] = []
        for live in found { looks.append((live.lineage, try look(at: live.lineage, live.found, fold))) }
        return looks
    }

    private func look(
        at lineage: LineageID, _ result: Result<FoundLineage?, StoreError>, _ fold: Fold
    ) throws(ReplayError) -> Look {
        var look = Look(ledger: fold.bytes(of: lineage))
        switch result {
        case .failure(.unreadable(let key, let reason, _)):
            look.difference = LineageDifference(lineage, .unreadable, detail: "\(key): \(reason)")
        case .failure(let error): throw .store(error)
        case .success(let found):
            look.live = found?.record.encoded()
            look.holders = found?.holders ?? []
            look.difference = try comparison.difference(
                lineage, ledger: try fold.record(of: lineage), live: found?.record)
            guard look.difference == nil, let found else { break }
            let holders = Holder.all(of: found.record, under: policies[lineage.app] ?? .keep)
            if Set(found.holders) != Set(holders) {
                look.difference = LineageDifference(
                    lineage, .misplaced,
                    detail: "\(names(found.holders)) has it; by its facts and the app's policy \(names(holders)) should"
                )
            }
        }
        return look
    }

    private func names(_ holders: [Holder]) -> String { holders.map(\.description).joined(separator: ", ") }
}
