import Entitlements
import Time

@testable import Simulator

/// Lets a life happen and holds every record against the oracle, again and again.
struct Trial {
    let life: Life
    /// Of each environment.
    let facts: [AppleFacts]

    /// The first difference, or nil. The census says what there was to differ in.
    func difference(_ census: inout Census) throws -> String? {
        var random = StoreRandom(seed: life.seed ^ 0x5DEE_CE66)
        var worlds = try facts.map { facts in
            var facts = facts
            facts.isSigned = life.isSigned
            return try World(facts, life.route)
        }
        var courier = Courier(life.route)
        var editions = [life.firstEdition]
        var now = LifeCatalog.start
        for (number, step) in life.steps.enumerated() {
            now = now + step.pause
            var news: [Observation] = []
            for index in worlds.indices {
                news += try worlds[index].advance(to: now, &census)
                guard worlds[index].environment == step.place else { continue }
                news += try worlds[index].perform(step, at: now, &census)
            }
            if case .publish(let edition) = step.deed, edition != editions.last {
                editions.append(edition)
                census.count("lived: map published")
            }
            courier.take(news, &random, &census)
            guard number % 4 == 3 || number == life.steps.count - 1 else { continue }

            // Just after all that was signed in one and the same millisecond.
            let instant = now + .milliseconds(200)
            guard worlds.allSatisfy({ world in world.store.nextDue.map { $0 > instant } ?? true }) else { continue }
            if life.route == .simultaneous {
                courier.settle([], &random, &census)
                if let found = Order(courier: courier).lastWords(&census) { return "step \(number): \(found)" }
            }
            var answers: [Observation] = []
            for index in worlds.indices where life.route.asksApple {
                answers += try worlds[index].answers(signedAt: now + .milliseconds(150))
            }
            courier.settle(answers, &random, &census)
            for world in worlds {
                // Under the map that counts and the one that counted before it.
                for edition in editions.suffix(2) {
                    let comparison = Comparison(world: world, records: courier.records, edition: edition)
                    if let found = comparison.difference(at: instant, &random, &census) {
                        return "step \(number), \(world.environment), map \(edition): \(found)"
                    }
                }
            }
        }
        let ids = Dictionary(grouping: courier.records.keys, by: \.originalTransactionID)
        census.count("lived: one id in both environments", ids.values.count { $0.count > 1 })
        if let mistake = courier.mistake { return mistake }
        return Order(courier: courier).difference(&random, &census)
            ?? Stillness(records: courier.records, map: LifeCatalog.maps[editions[editions.count - 1]])
            .difference(&random, &census)
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
                let candidate = Trial(life: life, facts: facts)
                var census = Census()
                if try candidate.difference(&census) != nil {
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
