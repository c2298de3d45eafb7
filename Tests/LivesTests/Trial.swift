import Entitlements
import Time

@testable import Simulator

/// Lets a life happen and holds every record against the oracle, again and again.
struct Trial {
    let life: Life
    let route: Route
    let facts: AppleFacts

    /// The first difference, or nil. `seen` counts what the oracle spoke of, so that nobody praises an empty trial.
    func difference(_ seen: inout [String: Int]) throws -> String? {
        var random = StoreRandom(seed: life.seed ^ 0x5DEE_CE66)
        var store = Store(settings: facts.settings, catalog: LifeCatalog.catalog, at: LifeCatalog.start)
        for account in LifeCatalog.accounts { _ = try store.createAccount(token: account, at: LifeCatalog.start) }
        var courier = Courier(route)
        var now = LifeCatalog.start
        for (number, step) in life.steps.enumerated() {
            now = now + step.pause
            var events = store.advance(to: now)
            if !isAmbiguous(step, store, now) {
                // What the store refuses is part of life.
                events += (try? store.perform(step.command, for: LifeCatalog.accounts[step.account], at: now)) ?? []
            }
            let news = try events.compactMap(\.notification).compactMap { try facts.observation(of: $0) }
            courier.take(news, &random)
            guard number % 4 == 3 || number == life.steps.count - 1 else { continue }

            // Just after all that was signed in one and the same millisecond.
            let instant = now + .milliseconds(200)
            guard store.nextDue.map({ $0 > instant }) ?? true else { continue }
            let answers = route == .lossy ? try self.answers(of: store, signedAt: now + .milliseconds(150)) : []
            courier.settle(answers, &random)
            if let found = difference(store, courier.records, at: instant, &seen) { return "step \(number): \(found)" }
        }
        return nil
    }

    /// What Get All Subscription Statuses and Get Transaction History would answer now.
    private func answers(of store: Store, signedAt time: Timestamp) throws -> [Observation] {
        var answers: [Observation] = []
        for transaction in LifeCatalog.accounts.flatMap(store.transactions) {
            answers.append(try facts.observation(.history, transaction, nil, nil, signedAt: time))
        }
        for subscription in store.subscriptions.values {
            guard let newest = store.newest(of: subscription) else { continue }
            answers.append(
                try facts.observation(
                    .status, newest, store.renewal(of: subscription.originalID), subscription.status, signedAt: time))
        }
        return answers
    }

    private func difference(
        _ store: Store, _ records: [LineageID: LineageRecord], at instant: Timestamp, _ seen: inout [String: Int]
    ) -> String? {
        let oracle = Oracle(store: store)
        for (id, right) in oracle.rights(at: instant) {
            for trait in right.traits { seen[trait, default: 0] += 1 }
            let lineage = LineageID(app: LifeCatalog.app, environment: .production, originalTransactionID: id)
            guard let record = records[lineage] else { return "\(id) is unknown, should be \(right)" }
            let found = Oracle.Right(record.evaluated(at: instant, map: LifeCatalog.map))
            if found != right { return "\(id)\n  is        \(found)\n  should be \(right)" }
        }
        for account in LifeCatalog.accounts {
            let evaluation = CustomerEvaluation(
                of: records.values.filter { $0.customer == account }, at: instant, map: LifeCatalog.map)
            let found = Set(evaluation.entitlements.filter(\.active).map(\.id))
            let right = oracle.entitlements(of: account, at: instant)
            if found != right { return "\(account) has \(found.sorted()), should have \(right.sorted())" }
        }
        return nil
    }

    /// An upgrade after the next period was charged: nothing that Apple signs on its own says that this period, which
    /// begins later than the upgrade, no longer counts.
    private func isAmbiguous(_ step: Life.Step, _ store: Store, _ now: Timestamp) -> Bool {
        switch step.command {
        case .buy, .change:
            store.transactions(of: LifeCatalog.accounts[step.account]).contains {
                $0.purchaseDate > now && !$0.isUpgraded
            }
        default: false
        }
    }
}

extension Trial {
    /// The shortest life found that still goes wrong: steps are left out as long as it does.
    func shrunk() throws -> Trial {
        var best = self
        var size = max(1, life.steps.count / 2)
        while true {
            var start = 0
            var isShorter = false
            while start < best.life.steps.count {
                var life = best.life
                let end = min(start + size, life.steps.count)
                // What comes later keeps its time.
                let pause = life.steps[start..<end].reduce(Duration.zero) { $0 + $1.pause }
                if end < life.steps.count { life.steps[end].pause += pause }
                life.steps.removeSubrange(start..<end)
                let candidate = Trial(life: life, route: route, facts: facts)
                var seen: [String: Int] = [:]
                if try candidate.difference(&seen) != nil {
                    best = candidate
                    isShorter = true
                } else {
                    start += size
                }
            }
            if size == 1 && !isShorter { return best }
            size = max(1, size / 2)
        }
    }
}
