import Broker
import HTTP
import Runtime
import Simulator
import Time

/// One drill against a stack that is up: lets accounts live, reads all the while, breaks and mends, and judges.
actor DrillRun {
    let options: DrillOptions
    let judge: Judge
    let store: SimulatorClient
    let reader: GatewayReader
    let client: HTTPClient
    let queues: QueueWatch
    private let clock = WallClock.system
    private(set) var lives: Lives
    private(set) var faults = Faults()
    private(set) var record: DrillRecord
    private(set) var lifelines: [String: Lifeline] = [:]
    private(set) var accounts: [String] = []
    /// The accounts to which something happened last.
    private var recent: [String] = []
    private var lastDeeds: [String: ContinuousClock.Instant] = [:]
    private var pending: [Reading] = []
    private var lastEvent: UInt64 = 0
    private var knownUntil = Timestamp(milliseconds: 0)
    private var isPopulated = false
    private var isLiving = false
    private var isOver = false
    private var printedUntil = 0
    private var random: StoreRandom

    init(options: DrillOptions, map: [String: Set<String>], month: Duration, broker: BrokerSettings, loop: EventLoop) {
        self.options = options
        judge = Judge(bounds: options.bounds, map: map)
        // A read that waits this long is one that a backend has given up.
        client = HTTPClient(settings: HTTPClientSettings(totalTimeout: .seconds(10)), loop: loop)
        store = SimulatorClient(client: client, url: options.simulator)
        reader = GatewayReader(gateways: options.gateways, key: options.key, app: options.app, client: client)
        queues = QueueWatch(broker: broker, operations: options.operations, client: client)
        lives = Lives(month: month, seed: options.seed)
        random = StoreRandom(seed: options.seed ^ 0xD121)
        record = DrillRecord(scenario: options.scenario.name, began: WallClock.system.now())
    }

    // MARK: The course of it

    func run() async throws -> DrillRecord {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.follow() }
            group.addTask { try await self.live() }
            group.addTask { await self.load() }
            group.addTask {
                try await self.direct()
                await self.finish()
            }
            // The first that fails ends the others.
            try await group.waitForAll()
        }
        record.accounts = accounts.count
        return record
    }

    private func finish() { isOver = true }

    private func direct() async throws {
        try await settle()
        enter(.before)
        try await wait(1)
        enter(.during)
        for step in options.scenario.steps { try await take(step) }
        enter(.recovering)
        let mended = clock.now()
        record.recovery = try await recover(since: mended)
        if let recovery = record.recovery {
            say("recovered fully, \(DrillRecord.text(recovery)) after the last part was mended")
        } else {
            say("not recovered within \(options.bounds.recovery)")
        }
        enter(.after)
        try await wait(0.5)
        isLiving = false
        await endCheck()
        record.end = record.seconds(clock.now())
        record.spans = spans()
        await printTimeline(upTo: .infinity)
    }

    private func enter(_ stage: Scenario.Stage) {
        record.enter(stage, at: clock.now())
        say("— \(stage.rawValue)")
    }

    private func wait(_ units: Double) async throws {
        try await Task.sleep(for: .milliseconds(Int64(units * Double(options.seconds) * 1000)))
    }

    func say(_ text: String) {
        let now = clock.now()
        record.note(text, at: now)
        guard !options.isQuiet else { return }
        Console.line("\(DrillTable.time(record.seconds(now)))  \(text)".printable())
    }

    // MARK: Breaking and mending

    private func take(_ step: Scenario.Step) async throws {
        switch step {
        case .wait(let units): try await wait(units)
        case .kill(let part):
            say("\(part.name) is killed")
            if case .gateway(let number) = part { reader.set(number, isUp: false) }
            faults.breaks(part, at: clock.now())
            try await options.control?.kill(part)
            faults.isBroken(part, at: clock.now())
        case .start(let part): try await start(part)
        case .startEmpty(let part):
            try await options.control?.loseData(of: part)
            faults.losesData(at: clock.now())
            say("\(part.name) has lost all data")
            try await start(part)
        case .appleHangs:
            say("Apple: no notifications, and the API hangs")
            try await breakApple(#"{"sending":{"dark":true,"losePercent":30},"api":{"dark":true}}"#)
        case .appleFails:
            say("Apple: no notifications, and the API fails")
            try await breakApple(
                #"{"sending":{"dark":true,"losePercent":30},"api":{"dark":false,"failStatus":500}}"#)
        case .appleReturns:
            faults.mends(.apple, at: clock.now())
            try await store.behave(#"{"reset":true}"#)
            faults.isMended(.apple, at: clock.now())
            say("Apple is back")
        }
    }

    private func start(_ part: Faults.Part) async throws {
        faults.mends(part, at: clock.now())
        try await options.control?.start(part)
        faults.isMended(part, at: clock.now())
        if case .gateway(let number) = part { reader.set(number, isUp: true) }
        say("\(part.name) is up again")
    }

    private func breakApple(_ behaviour: String) async throws {
        let isFirst = faults.outages(of: .apple).isEmpty
        if isFirst { faults.breaks(.apple, at: clock.now()) }
        try await store.behave(behaviour)
        if isFirst { faults.isBroken(.apple, at: clock.now()) }
    }

    private func spans() -> [DrillRecord.Span] {
        faults.outages.map {
            DrillRecord.Span(
                name: $0.part.name, from: record.seconds($0.breaking),
                to: $0.mended.map(record.seconds) ?? record.end)
        }
    }

    // MARK: The truth

    /// Takes in what happens in the store, and judges what has been read up to then.
    private func follow() async throws {
        while !isOver {
            let news = try await store.changes(after: lastEvent)
            lastEvent = news.last
            for change in news.changes { take(change) }
            if let until = news.until { knownUntil = until }
            judgePending()
            await printTimeline(upTo: record.seconds(knownUntil) - 0.5)
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func take(_ change: SimulatorClient.Change) {
        record.changes += 1
        if lifelines[change.account] == nil {
            lifelines[change.account] = Lifeline(createdAt: change.time)
            accounts.append(change.account)
        }
        lifelines[change.account]?.add(change.state, since: change.time)
        recent.append(change.account)
        if recent.count > 64 { recent.removeFirst(32) }
    }

    private func judgePending() {
        var later: [Reading] = []
        for reading in pending {
            guard reading.instant + .milliseconds(5) <= knownUntil else {
                later.append(reading)
                continue
            }
            let lifeline = lifelines[reading.customer] ?? Lifeline(createdAt: reading.sentAt)
            record.add(reading, judge.verdict(on: reading, of: lifeline, faults: faults))
        }
        pending = later
    }

    private func untilKnown(_ instant: Timestamp) async throws {
        while knownUntil < instant + .milliseconds(10) { try await Task.sleep(for: .milliseconds(20)) }
    }

    // MARK: Lives

    /// Opens the accounts, spread over a month, and lets them live until the drill is over.
    private func live() async throws {
        let spread = min(lives.month, .seconds(8))
        for _ in 0..<options.accounts {
            let began = ContinuousClock.now
            try await open()
            try await Task.sleep(until: began + spread / max(1, options.accounts))
        }
        isPopulated = true
        let pause = lives.month / max(1, options.accounts)
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

    private func open() async throws {
        let account = try await store.createAccount()
        lastDeeds[account] = .now
        guard let deed = lives.firstDeed(of: account) else { return }
        _ = try await store.tries(deed.command, for: deed.account, body: deed.body)
    }

    /// Waits until all accounts are there and every gateway answers each of them rightly.
    private func settle() async throws {
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
    private func load() async {
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

    private var underWay = 0

    private func readOnce(_ customer: String) async {
        let reading = await reader.read(customer)
        underWay -= 1
        pending.append(reading)
    }

    /// Anybody, and every fourth time somebody to whom something has just happened.
    private func nextCustomer() -> String? {
        if Int.random(in: 0..<4, using: &random) == 0, let account = recent.randomElement(using: &random) {
            return account
        }
        return accounts.randomElement(using: &random)
    }

    // MARK: Recovery

    /// How long it took until all was as it should be; nil when it was not within the bound.
    private func recover(since mended: Timestamp) async throws -> Duration? {
        while true {
            let began = clock.now()
            let problem = try await firstProblem()
            guard let problem else {
                faults.recovers(at: began)
                record.unfinished = []
                return began - mended
            }
            record.unfinished = [problem]
            guard clock.now() <= mended + options.bounds.recovery else { return nil }
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    /// What is not as it should be when nothing is broken, if anything: an account's answer on any gateway, the spools or
    /// the queues.
    private func firstProblem(allowingBehind: Bool = true) async throws -> String? {
        if let problem = await queues.problem() { return problem }
        return try await sweep(stopAtFirst: true, allowingBehind: allowingBehind).first
    }

    /// Reads all accounts from all gateways, and says what is wrong with the answers if nothing is broken any more.
    private func sweep(stopAtFirst: Bool, allowingBehind: Bool = true) async throws -> [String] {
        var strict = faults
        strict.recovers(at: clock.now())
        var problems: [String] = []
        var rest = accounts[...]
        while !rest.isEmpty {
            // Few at a time: the reads that are measured go on beside it.
            let portion = rest.prefix(8)
            rest = rest.dropFirst(8)
            let readings = await withTaskGroup(of: Reading.self) { [reader] group in
                for account in portion {
                    for gateway in reader.gateways.indices {
                        group.addTask { await reader.read(account, from: gateway) }
                    }
                }
                return await group.reduce(into: [Reading]()) { $0.append($1) }
            }
            try await untilKnown(readings.map(\.instant).max() ?? knownUntil)
            for reading in readings {
                guard let lifeline = lifelines[reading.customer] else { continue }
                let verdict = judge.verdict(on: reading, of: lifeline, faults: strict)
                let problem =
                    Self.problem(reading, verdict, bounds: judge.bounds)
                    ?? (allowingBehind || verdict.readClass != .behind ? nil : "\(reading.customer) is behind")
                guard let problem else { continue }
                problems.append(problem)
                if stopAtFirst { return problems }
            }
        }
        return problems
    }

    private static func problem(_ reading: Reading, _ verdict: Verdict, bounds: Bounds) -> String? {
        let whose = "gateway-\(reading.gateway + 1), \(reading.customer)"
        if verdict.isWrong {
            return "\(whose): \(verdict.readClass.words), \(verdict.detail ?? verdict.levelProblem ?? "")"
        }
        if case .answer(let answer) = reading.outcome, let since = answer.heldSince,
            answer.serverTime - since > bounds.propagation
        {
            return "\(whose): still held since \(since.rfc3339)"
        }
        return nil
    }

    /// When nothing happens any more but what time brings, all answers must be right within the bound of propagation, and
    /// nothing be left on the way.
    private func endCheck() async {
        let end = ContinuousClock.now + options.bounds.propagation
        do {
            while true {
                let isLate = ContinuousClock.now >= end
                var problems = try await sweep(stopAtFirst: !isLate)
                if problems.isEmpty, let problem = await queues.problem() { problems = [problem] }
                record.unfinished = problems
                if problems.isEmpty || isLate { break }
                try await Task.sleep(for: .milliseconds(200))
            }
            try await untilKnown(clock.now())
        } catch {
            record.unfinished = ["the end could not be checked: \(error)"]
        }
        judgePending()
    }

    // MARK: The timeline

    private func printTimeline(upTo seconds: Double) async {
        guard !options.isQuiet, let before = record.begin(of: .before) else { return }
        printedUntil = max(printedUntil, Int(before))
        let last = min(seconds, Double(record.seconds.keys.max() ?? 0))
        while Double(printedUntil + 2) <= last {
            var tally = Tally()
            for second in printedUntil..<printedUntil + 2 { record.seconds[second].map { tally += $0 } }
            Console.line(DrillTable.line(at: Double(printedUntil), tally))
            printedUntil += 2
        }
    }
}
