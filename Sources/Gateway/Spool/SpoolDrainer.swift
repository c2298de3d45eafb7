package import Runtime

/// Hands spooled records to the broker as soon as it takes them, oldest first, many under way at a time.
///
/// The cursor never passes a record that is not confirmed. A crash, or a confirm that came too late, makes the broker
/// get a record twice; that is harmless.
package actor SpoolDrainer: Service {
    package nonisolated let name = "spool-drainer"

    private let spool: Spool
    private let sink: any MessageSink
    private let window: Int
    private let shortestPause: Duration
    private let longestPause: Duration
    private let log: Log
    private let drained: Counter
    private let failures: @Sendable (SinkFailure) -> Counter
    private let moved: Counter
    private let refusedRecords: Gauge
    private var running: Task<Void, Never>?

    /// `window` records are on their way to `sink` at a time; after a failure it waits from `shortestPause` up to
    /// `longestPause`, doubling.
    package init(
        spool: Spool, sink: any MessageSink, window: Int = 128, shortestPause: Duration = .milliseconds(100),
        longestPause: Duration = .seconds(5), metrics: Metrics, log: Log
    ) {
        self.spool = spool
        self.sink = sink
        self.window = max(1, window)
        self.shortestPause = shortestPause
        self.longestPause = longestPause
        self.log = log
        drained = metrics.counter("holdfast_spool_drained_total", "Spooled records that the broker has confirmed.")
        failures = { failure in
            metrics.counter(
                "holdfast_spool_drain_failures_total", "Attempts to hand on a spooled record that failed.",
                labels: ["reason": failure.reason])
        }
        moved = metrics.counter(
            "holdfast_spool_moved_total", "Records refused so often that they were put behind all others.")
        refusedRecords = metrics.gauge(
            "holdfast_spool_refused_records", "Records at hand that the broker refused when last asked.")
    }

    package func start() async throws {
        running = Task(name: name) { await self.run() }
    }

    /// Stops after what is under way; what is left stays for the next start.
    package func drain() async {
        running?.cancel()
        await running?.value
    }

    private func run() async {
        let arrivals = spool.arrivals()
        var ledger = DrainLedger(next: spool.cursor, passing: UInt64(8 * window))
        var pause = shortestPause
        while !Task.isCancelled {
            do throws(SpoolError) { try await read(into: &ledger) } catch {
                log.error("the spool cannot be read", ["error": .init(error)])
                await sleep(longestPause)
                continue
            }
            if ledger.unconfirmedCount > 0 {
                guard sink.isHealthy else {
                    await sleep(shortestPause)
                    continue
                }
                let before = ledger.confirmed
                await handOn(ledger.toTry, &ledger)
                if ledger.confirmed > before { pause = shortestPause }
            }
            refusedRecords.set(Double(ledger.unconfirmedCount))
            if ledger.cursor > spool.cursor { await spool.advance(to: ledger.cursor) }

            if ledger.unconfirmedCount > 0 {
                await sleep(pause)
                pause = min(pause * 2, longestPause)
            } else if !ledger.hasMore {
                for await _ in arrivals { break }
            }
        }
    }

    private func read(into ledger: inout DrainLedger) async throws(SpoolError) {
        // Refused records stay at hand while others pass them, up to a bound.
        guard ledger.unconfirmedCount < window else { return }
        ledger.took(try await spool.read(from: ledger.next, maxCount: 4 * window))
    }

    /// Tries all of `entries`, in order, until one finds nothing to be possible.
    private func handOn(_ entries: [SpoolEntry], _ ledger: inout DrainLedger) async {
        var refused: [(SpoolEntry, SinkFailure)] = []
        var unavailable: SinkFailure?
        await withTaskGroup(of: (SpoolEntry, SinkFailure?).self) { [sink] group in
            var rest = entries[...]
            var underWay = 0
            while true {
                while underWay < window, unavailable == nil, !Task.isCancelled, let entry = rest.popFirst() {
                    // Started here and now, so that calls reach the sink in the order of the records.
                    group.addImmediateTask {
                        do throws(SinkFailure) {
                            try await sink.store(IntakeMessage(spooled: entry.record))
                            return (entry, nil)
                        } catch {
                            return (entry, error)
                        }
                    }
                    underWay += 1
                }
                guard let (entry, failure) = await group.next() else { return }
                underWay -= 1
                switch failure {
                case nil:
                    ledger.wasConfirmed(entry.sequence)
                    drained.increment()
                case .refused(let detail)?: refused.append((entry, .refused(detail)))
                case .unavailable(let detail)?: unavailable = .unavailable(detail)
                }
                if let failure { failures(failure).increment() }
            }
        }
        if let unavailable {
            log.warning("spooled records wait for the broker", ["error": .init(unavailable)])
        }
        if let (entry, failure) = refused.first {
            log.error(
                "the broker refuses spooled records",
                ["sequence": .init(entry.sequence), "records": .init(refused.count), "error": .init(failure)])
        }
        for (entry, _) in refused where ledger.wasRefused(entry.sequence) == .moveToEnd {
            await move(entry, &ledger)
        }
    }

    /// Puts a record that nobody takes behind all others; it stays durable throughout.
    private func move(_ entry: SpoolEntry, _ ledger: inout DrainLedger) async {
        do throws(SpoolError) {
            let sequence = try await spool.append(entry.record)
            ledger.wasMoved(entry.sequence)
            moved.increment()
            log.error(
                "a record that the broker refuses was put behind all others",
                ["sequence": .init(entry.sequence), "newSequence": .init(sequence)])
        } catch {
            log.error(
                "a record that the broker refuses holds up the spool",
                ["sequence": .init(entry.sequence), "error": .init(error)])
        }
    }

    private func sleep(_ pause: Duration) async {
        // Cancelled: the loop looks next.
        try? await Task.sleep(for: pause)
    }
}
