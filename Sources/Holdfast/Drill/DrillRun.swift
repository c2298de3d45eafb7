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
    let clock = WallClock.system
    var lives: Lives
    var faults = Faults()
    var record: DrillRecord
    var lifelines: [String: Lifeline] = [:]
    var accounts: [String] = []
    /// The accounts to which something happened last.
    var recent: [String] = []
    var lastDeeds: [String: ContinuousClock.Instant] = [:]
    var pending: [Reading] = []
    var lastEvent: UInt64 = 0
    var knownUntil = Timestamp(milliseconds: 0)
    var isPopulated = false
    var isLiving = false
    var isOver = false
    var printedUntil = 0
    var random: StoreRandom
    var underWay = 0
    var losesNews = false
    var lags = LagLedger()
    /// When an account whose last change has not shown yet is read again.
    var nextLooks: [String: ContinuousClock.Instant] = [:]
    var looks = 0
    let events: EventWatch?

    init(options: DrillOptions, map: [String: Set<String>], month: Duration, broker: BrokerSettings, loop: EventLoop) {
        self.options = options
        judge = Judge(bounds: options.bounds, map: map)
        // A read that waits this long is one that a backend has given up.
        client = HTTPClient(settings: HTTPClientSettings(totalTimeout: .seconds(10)), loop: loop)
        store = SimulatorClient(client: client, url: options.simulator)
        reader = GatewayReader(gateways: options.gateways, key: options.key, app: options.app, client: client)
        queues = QueueWatch(broker: broker, operations: options.operations, client: client)
        events = options.scenario.isExact ? EventWatch(broker: broker) : nil
        lives = Lives(month: month, seed: options.seed)
        random = StoreRandom(seed: options.seed ^ 0xD121)
        record = DrillRecord(
            scenario: options.scenario.name, isExact: options.scenario.isExact, began: WallClock.system.now())
    }

    // MARK: The course of it

    func run() async throws -> DrillRecord {
        try await behaveUsually()
        try await events?.start()
        do { try await runAll() } catch {
            await events?.stop()
            throw error
        }
        await events?.stop()
        record.accounts = accounts.count
        return record
    }

    private func runAll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if options.scenario.isExact { group.addTask { await self.lookForChanges() } }
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
        if options.scenario.isExact { try await compareAll() }
        record.end = record.seconds(clock.now())
        record.spans = spans()
        await printTimeline(upTo: .infinity)
    }

    private func enter(_ stage: Scenario.Stage) {
        record.enter(stage, at: clock.now())
        say("— \(stage.rawValue)")
    }

    func wait(_ units: Double) async throws {
        try await Task.sleep(for: .milliseconds(Int64(units * Double(options.seconds) * 1000)))
    }

    func say(_ text: String) {
        let now = clock.now()
        record.note(text, at: now)
        guard !options.isQuiet else { return }
        Console.line("\(DrillTable.time(record.seconds(now)))  \(text)".printable())
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
            try await Task.sleep(for: .milliseconds(options.scenario.isExact ? 10 : 50))
        }
    }

    private func take(_ change: SimulatorClient.Change) {
        record.changes += 1
        if lifelines[change.account] == nil {
            lifelines[change.account] = Lifeline(createdAt: change.time)
            accounts.append(change.account)
        }
        lifelines[change.account]?.add(change.state, since: change.time)
        if options.scenario.isExact {
            lags.happens(change.name, to: change.account, at: change.time, change.lineages, change.fate)
        }
        recent.append(change.account)
        if recent.count > 64 { recent.removeFirst(32) }
    }

    func judgePending() {
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

    func untilKnown(_ instant: Timestamp) async throws {
        while knownUntil < instant + .milliseconds(10) { try await Task.sleep(for: .milliseconds(20)) }
    }

    // MARK: The timeline

    func printTimeline(upTo seconds: Double) async {
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
