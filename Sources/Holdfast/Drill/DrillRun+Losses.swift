import Runtime
import Time

/// What the drill of losses looks at beside reads: how long changes take to show, every lineage in the end, calls and events.
extension DrillRun {
    // MARK: Lags

    /// Reads each account to which something has happened until an answer shows it.
    func lookForChanges() async {
        await withDiscardingTaskGroup { group in
            while !isOver {
                do { try await Task.sleep(for: .milliseconds(5)) } catch { return }
                let now = ContinuousClock.now
                for account in lags.pending.keys where nextLooks[account].map({ $0 <= now }) ?? true {
                    guard looks < 32 else { break }
                    looks += 1
                    // Until it has come back.
                    nextLooks[account] = now + .seconds(60)
                    group.addTask { await self.look(at: account) }
                }
            }
        }
    }

    private func look(at account: String) async {
        let reading = await reader.read(account)
        looks -= 1
        if case .answer(let answer) = reading.outcome {
            lags.shows(answer.sights, of: account, at: answer.serverTime)
        }
        guard let since = lags.waiting(account) else {
            nextLooks[account] = nil
            return
        }
        // Seldom enough to be no load of its own, and often enough that the figure is right to a twentieth.
        let age = max(.zero, clock.now() - since)
        nextLooks[account] = .now + min(max(age / 20, .milliseconds(10)), .milliseconds(500))
    }

    // MARK: Calls

    /// Waits until Apple has been asked about subscriptions `count` times more, so that what follows happens in the middle
    /// of it.
    func untilAsked(_ count: Int) async throws {
        let end = ContinuousClock.now + .seconds(max(60, options.seconds))
        let begin = try await store.calls().endpoint("statuses")?.calls ?? 0
        while ContinuousClock.now < end {
            if try await store.calls().endpoint("statuses")?.calls ?? 0 >= begin + count {
                say("Apple is being asked about subscriptions")
                return
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        record.losses.sweepsMissed += 1
        say("nobody asks Apple about subscriptions")
    }

    // MARK: The end

    /// Compares every lineage with the store on every gateway until each has been equal once, or the time to find what was
    /// lost is over; and takes the figures.
    func compareAll() async throws {
        // What is canceled is asked about at its end.
        let end = ContinuousClock.now + options.bounds.found + lives.month
        var open: Set<String>?
        var unseen: [String] = []
        while true {
            let truth = Dictionary(grouping: try await store.truth(), by: \.account)
            record.losses.lineages = truth.values.map(\.count).reduce(0, +)
            record.losses.differences = []
            var left: Set<String> = []
            for (account, lineages) in truth.sorted(by: { $0.key < $1.key }) where open?.contains(account) ?? true {
                let found = await differences(of: account, from: lineages)
                if !found.isEmpty { left.insert(account) }
                record.losses.differences += found
            }
            open = left
            unseen = lags.unseen(before: clock.now() - options.bounds.propagation)
            if left.isEmpty && unseen.isEmpty || ContinuousClock.now >= end { break }
            try await Task.sleep(for: .milliseconds(250))
        }
        record.losses.unseen = unseen
        record.losses.calls = try await store.calls()
        record.losses.lags = lags.samples
        record.losses.events = events?.seen ?? EventLedger()
    }

    private func differences(of account: String, from truth: [TrueLineage]) async -> [String] {
        var found: [String] = []
        for gateway in reader.gateways.indices {
            let reading = await reader.read(account, from: gateway)
            guard case .answer(let answer) = reading.outcome else {
                found.append("gateway-\(gateway + 1), \(account): \(reading.outcome)")
                continue
            }
            for lineage in answer.sights.differences(from: truth, at: answer.serverTime) {
                let said = answer.sights.sight(of: lineage)?.description ?? "unknown"
                found.append(
                    "gateway-\(gateway + 1), lineage \(lineage.id) of \(account): it is "
                        + "\(lineage.sight(at: answer.serverTime)); the answer says \(said)")
            }
        }
        return found
    }
}
