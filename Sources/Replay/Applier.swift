internal import CacheTier
package import Consumer
internal import Entitlements
package import Time

/// Applies observations to the live state as the consumer does, those of one lineage in their order, and no faster than
/// it may.
///
/// What is known there already changes nothing, so that it can be interrupted anywhere and done again.
package actor Applier {
    package struct Report: Sendable, Hashable {
        package var changed = 0
        package var unchanged = 0
        /// Lineages whose stored record cannot be read, and why; nothing is written over them.
        package var unreadable: [String: String] = [:]
    }

    private static let lanes = 32
    private static let maximumUnreadable = 1000

    /// One observation, as the history tells of it: when it was received, and not when it was replayed.
    private struct News: Sendable {
        let observation: Observation
        let cause: TransitionCause
        let at: Timestamp
    }

    private let store: any ObservationStore
    private let now: Timestamp
    private let rate: Int?
    private let interruption: Interruption
    private let patience: Duration
    private let began = ContinuousClock.now
    private var count = 0
    package private(set) var report = Report()

    /// At most `rate` observations a second; nil for as fast as the store takes them. `patience` is how long the store may
    /// be away before it is given up; `now` is when messages count as received of which nothing says when they were.
    package init(
        store: any ObservationStore, now: Timestamp, rate: Int? = nil, patience: Duration = .seconds(30),
        interruption: Interruption = Interruption()
    ) {
        self.interruption = interruption
        self.store = store
        self.now = now
        self.rate = rate.map { max(1, $0) }
        self.patience = patience
    }

    /// Founds the store if there is none, and sees whether it takes writes.
    package func prepare() async throws(ReplayError) {
        do throws(StoreError) { try await store.prepare() } catch { throw .store(error) }
    }

    /// Whether something was left undone because somebody asked for the end.
    package private(set) var isInterrupted = false

    /// Applies what some messages say; those that say nothing about a lineage are passed over.
    package func apply(_ messages: [JudgedMessage]) async throws(ReplayError) {
        var news: [News] = []
        for message in messages {
            guard case .news(let observations, let cause) = message.verdict else { continue }
            news += observations.map { News(observation: $0, cause: cause, at: message.receivedAt ?? now) }
        }
        // A quarter of a second's worth at a time: so the rate is one for the store, and the end comes soon when asked for.
        let portion = rate.map { max(1, $0 / 4) } ?? news.count
        while !news.isEmpty {
            if interruption.isRequested {
                isInterrupted = true
                return
            }
            let part = Array(news.prefix(portion))
            news.removeFirst(part.count)
            try await apply(part)
            count += part.count
            await keepToTheRate()
        }
    }

    private func apply(_ news: [News]) async throws(ReplayError) {
        var lanes: [LineageID: [News]] = [:]
        for one in news { lanes[one.observation.lineage, default: []].append(one) }
        var waiting = Array(lanes.values)[...]
        let (store, patience) = (store, patience)
        let results = await withTaskGroup(of: Result<Report, StoreError>.self) { group in
            var results: [Result<Report, StoreError>] = []
            for lane in waiting.prefix(Self.lanes) {
                group.addTask { await Self.apply(lane, store, patience) }
            }
            waiting = waiting.dropFirst(Self.lanes)
            for await result in group {
                results.append(result)
                // After a failure nothing new is begun.
                guard case .success = result, let lane = waiting.popFirst() else { continue }
                group.addTask { await Self.apply(lane, store, patience) }
            }
            return results
        }
        for result in results {
            do throws(StoreError) {
                let part = try result.get()
                report.changed += part.changed
                report.unchanged += part.unchanged
                for (lineage, reason) in part.unreadable where report.unreadable.count < Self.maximumUnreadable {
                    report.unreadable[lineage] = reason
                }
            } catch { throw .store(error) }
        }
    }

    private static func apply(
        _ lane: [News], _ store: any ObservationStore, _ patience: Duration
    ) async -> Result<Report, StoreError> {
        var report = Report()
        for news in lane {
            do throws(StoreError) {
                let change = try await apply(news, store, patience)
                if change.changed { report.changed += 1 } else { report.unchanged += 1 }
            } catch {
                guard case .unreadable(let key, let reason, _) = error else { return .failure(error) }
                report.unreadable[news.observation.lineage.originalTransactionID] = "\(key): \(reason)"
            }
        }
        return .success(report)
    }

    /// Waits for a store that is away for a while, as one that is started again is.
    private static func apply(
        _ news: News, _ store: any ObservationStore, _ patience: Duration
    ) async throws(StoreError) -> AppliedChange {
        let deadline = ContinuousClock.now + patience
        var pause = Duration.milliseconds(50)
        while true {
            do throws(StoreError) {
                return try await store.apply(news.observation, cause: news.cause, at: news.at)
            } catch {
                if case .unreadable = error { throw error }
                guard error.isRetryable, .now + pause < deadline else { throw error }
                // Cancelled, the next try says so.
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
            }
        }
    }

    private func keepToTheRate() async {
        guard let rate else { return }
        let due = began + .seconds(Double(count) / Double(rate))
        let wait = due - .now
        // Cancellation cuts it short; then nothing more is applied anyway.
        if wait > .zero { try? await Task.sleep(for: wait) }
    }
}
