import Runtime
import Time

/// Accounts that live, and reads of them.
extension DrillRun {
    // MARK: Lives

    /// Opens the accounts, spread over a month, and lets them live until the drill is over.
    func live() async throws {
        let spread = min(lives.month, .seconds(8))
        for _ in 0..<options.accounts {
            let began = ContinuousClock.now
            try await open()
            try await Task.sleep(until: began + spread / max(1, options.accounts))
        }
        isPopulated = true
        // Figures about changes need many of them.
        let pause = lives.month / max(1, options.accounts) / (options.scenario.isExact ? 2 : 1)
        var next = ContinuousClock.now
        while !isOver {
            next = max(next + pause, .now - .seconds(1))
            try await Task.sleep(until: next)
            guard isLiving else { continue }
            if lives.wantsNewAccount() {
                try await open()
            } else if let account = lives.pick(accounts), let state = lifelines[account]?.latest,
                // What was done last must show first, or the next deed would be one for another state.
                lastDeeds[account].map({ ContinuousClock.now - $0 > .seconds(1) }) ?? true,
                let deed = lives.deed(of: account, in: state, at: clock.now())
            {
                lastDeeds[account] = .now
                _ = try await store.tries(deed.command, for: deed.account, body: deed.body)
            }
        }
    }

    func open() async throws {
        let account = try await store.createAccount()
        lastDeeds[account] = .now
        guard let deed = lives.firstDeed(of: account) else { return }
        _ = try await store.tries(deed.command, for: deed.account, body: deed.body)
    }

    /// Waits until all accounts are there and every gateway answers each of them rightly.
    func settle() async throws {
        say("\(options.accounts) accounts are opened")
        while !isPopulated { try await Task.sleep(for: .milliseconds(50)) }
        let end = ContinuousClock.now + .seconds(120)
        while true {
            let began = clock.now()
            guard let problem = try await firstProblem(allowingBehind: false) else {
                faults.settles(at: began)
                break
            }
            guard ContinuousClock.now < end else {
                throw DemoError("the stack is not well before the drill: \(problem)")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        isLiving = true
    }

    // MARK: Reads

    /// Reads at the given rate, whatever the answers take, with a bound on how many are under way.
    func load() async {
        let pause = Duration.seconds(1) / max(1, options.rate)
        var next = ContinuousClock.now
        await withDiscardingTaskGroup { group in
            while !isOver {
                next = max(next + pause, .now - .milliseconds(200))
                do { try await Task.sleep(until: next) } catch { return }
                guard pending.count < 100_000, let customer = nextCustomer(), underWay < 256 else { continue }
                underWay += 1
                group.addTask { await self.readOnce(customer) }
            }
        }
    }

    func readOnce(_ customer: String) async {
        let reading = await reader.read(customer)
        underWay -= 1
        pending.append(reading)
    }

    /// Anybody, and every fourth time somebody to whom something has just happened.
    func nextCustomer() -> String? {
        if Int.random(in: 0..<4, using: &random) == 0, let account = recent.randomElement(using: &random) {
            return account
        }
        return accounts.randomElement(using: &random)
    }
}
