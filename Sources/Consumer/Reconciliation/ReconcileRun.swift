package import AppStore
package import Broker
package import CacheTier
import Entitlements
package import Runtime
import Time

/// The checks of one app in one environment.
package struct ReconcileRun: Sendable {
    let due: DueWork
    let drift: DriftExamination?
    private let store: LineageStore
    private let rules: StoreRules
    private let checking: LineageCheck
    private let health: @Sendable () -> AppleHealth
    private let isKeyRefused: @Sendable () -> Bool
    private let clock: WallClock
    private let metrics: ReconcileMetrics
    private let log: Log

    /// `isKeyRefused` says whether Apple is known to refuse the key and somebody else notices when it is taken again.
    package init(
        due: DueWork, store: LineageStore, rules: StoreRules,
        publisher: any MessagePublisher, names: BrokerNames, drift: DriftExamination? = nil,
        clock: WallClock = .system, metrics: Metrics = Metrics(), log: Log = .discarding,
        health: @escaping @Sendable () -> AppleHealth, isKeyRefused: @escaping @Sendable () -> Bool = { false },
        ask: @escaping LineageCheck.Ask
    ) {
        self.due = due
        self.drift = drift
        self.store = store
        self.rules = rules
        self.health = health
        self.isKeyRefused = isKeyRefused
        self.clock = clock
        self.metrics = ReconcileMetrics(metrics, app: due.app, environment: due.environment)
        self.log = log.part("reconcile").with(["app": .init(due.app), "environment": .init(due.environment.rawValue)])
        checking = LineageCheck(
            rules: rules, publisher: publisher, names: names, clock: clock, log: self.log, ask: ask)
    }

    /// How many of `lanes` may ask now: probes see to it that Apple's return is noticed, and that the key is taken again.
    func lanes(of lanes: Int) -> Int {
        guard !isKeyRefused() else { return 0 }
        return switch health() {
        case .fine, .notAsked: lanes
        case .degraded: 1
        case .unreachable: 0
        }
    }

    /// Checks one, and sees to it that it comes due again when it should.
    func check(_ claim: DueLineage) async {
        guard !Task.isCancelled else { return await giveBack(claim) }
        let urgency = claim.urgency.name
        do throws(StoreError) {
            guard let record = try await store.find(claim.lineage)?.record else {
                metrics.checked("unknown", urgency: urgency)
                return try await due.put(back: claim, next: nil)
            }
            let now = clock.now()
            let next = Cadence.next(for: record, map: rules.map, policy: rules.evaluation, at: now)
            // It may be due although the cadence has time: another product map has it asked about, say.
            guard let next, try await due.stands(claim) else {
                // News came since it was taken, or nobody needs to ask.
                metrics.checked("settledMeanwhile", urgency: urgency)
                return try await due.put(back: claim, next: next)
            }
            metrics.began(late: now - claim.since)
            // It may have become more urgent than it was when it was entered.
            let current = min(next.urgency, claim.urgency)
            let report: LineageCheck.Report
            do throws(BrokerError) {
                report = try await checking.check(
                    record, current == .routine ? .sweep : .expiring,
                    why: ["row": .init(next.row.rawValue), "urgency": .init(current.name)])
            } catch {
                // It comes due again by itself.
                metrics.checked("notTaken", urgency: current.name)
                return log.warning("Apple's answer was not taken by the broker", ["error": .init(error)])
            }
            if Task.isCancelled, case .failure = report.answer { return await giveBack(claim) }
            metrics.checked(report.verdict.rawValue, urgency: current.name)
            metrics.took(report.took)
            let asked: Cadence.Asked =
                switch report.answer {
                case .success: .answered(clock.now())
                // Asked again soon it would say the same; but with another key it would not.
                case .failure where report.verdict == .failed && !isKeyRefused(): .answered(clock.now())
                case .failure: .failed(clock.now())
                }
            // Nothing, where the answer or other news has entered another time since.
            try await due.put(
                back: claim,
                next: Cadence.next(
                    for: report.record, map: rules.map, policy: rules.evaluation, at: clock.now(), asked: asked))
        } catch {
            log.warning(
                "a check could not be made, and is due again later",
                ["lineage": .init(claim.lineage.originalTransactionID), "error": .init(error)])
        }
    }

    /// For others to take at once.
    func giveBack(_ claim: DueLineage) async {
        do throws(StoreError) { try await due.release(claim) } catch {
            log.debug("what was taken was not given back, and comes due again", ["error": .init(error)])
        }
    }
}
