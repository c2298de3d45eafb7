import AppStore
import Broker
import CacheTier
import Consumer
import EmbeddedStore
import Entitlements
import JSON
import Redis
import Runtime
import Time

/// What `holdfast backfill` works with: one app in one environment, Redis, RabbitMQ and Apple.
struct BackfillSession {
    private let settings: HoldfastSettings
    private let app: AppSettings
    private let environment: StoreEnvironment
    private let redis: any RedisCommands
    private let jobs: RecoveryStore
    private let loop: EventLoop
    private let asJSON: Bool
    private let log: Log
    private let clock = WallClock.system

    static func with(
        _ arguments: CommandArguments, _ body: (BackfillSession) async throws -> Int32
    ) async throws -> Int32 {
        guard let environment = StoreEnvironment(rawValue: arguments.value("environment") ?? "production") else {
            throw UsageError("--environment takes production or sandbox")
        }
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try settings.app(named: arguments.value("app"))
        let log = Log(part: "backfill", minimum: max(settings.logLevel, .warning))
        let loop = try EventLoop(name: "backfill")
        let redis = try settings.storeConnector(loop: loop, log: log).link("backfill")
        await redis.start()
        let result: Result<Int32, any Error>
        do {
            result = .success(
                try await body(
                    BackfillSession(
                        settings: settings, app: app, environment: environment, redis: redis,
                        jobs: RecoveryStore(
                            redis: redis, app: app.id, environment: environment, settings: settings.recovery),
                        loop: loop, asJSON: arguments.has("json"), log: log)))
        } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        return try result.get()
    }

    // MARK: What can be done

    func begin(_ since: Timestamp, _ until: Timestamp, _ taking: RecoveryJob.Taking) async throws -> Int32 {
        let earliest = Backfill.earliest(in: environment, now: clock.now())
        if since < earliest {
            Console.error(
                "Apple keeps \(Backfill.reach(in: environment).settingText) in \(environment.rawValue); "
                    + "begins at \(earliest.rfc3339)")
        }
        let from = max(since, earliest)
        guard from < until else { throw UsageError("all of that time is longer ago than Apple keeps notifications") }
        let now = clock.now()
        var job = RecoveryJob(
            name: Self.jobName(at: now), cause: .command, phase: .history,
            history: BackfillProgress(from: from, until: until, lanes: settings.recovery.lanes), at: now)
        job.taking = taking
        _ = try app.requiredKey()
        try await jobs.add(job)
        return try await work(on: job)
    }

    /// Two may be made in one millisecond.
    static func jobName(at now: Timestamp) -> String {
        "command-\(now.milliseconds)-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    }

    func resume(_ name: String?) async throws -> Int32 {
        let known = try await jobs.jobs()
        if let name {
            guard let job = known.first(where: { $0.name == name }) else {
                Console.error("there is no \(name); holdfast backfill --list shows what there is")
                return 1
            }
            guard job.phase != .waiting else {
                Console.error("\(name) waits until Apple is back; a consumer sees to it then")
                return 1
            }
            return job.phase == .done ? show(job) : try await work(on: job)
        }
        guard let job = known.first(where: { $0.cause == .command && $0.phase < .done }) else {
            Console.error("no backfill is unfinished; holdfast backfill --list shows what there is")
            return 1
        }
        return try await work(on: job)
    }

    func list() async throws -> Int32 {
        let known = try await jobs.jobs()
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.array("jobs", known) { json, job in
                json.beginObject()
                job.write(to: &json)
                json.endObject()
            }
            json.endObject()
            Console.line(json.text)
        } else if known.isEmpty {
            Console.line("No backfill or recovery of \(app.id) in \(environment.rawValue) is known.")
        } else {
            for job in known { Console.line("\(job.name)  \(job.phase.rawValue)\n\(job.summary)") }
        }
        return 0
    }

    func status(everywhere: Bool) async throws -> Int32 {
        let all = try await BackfillStatus.all(
            of: app, in: everywhere ? StoreEnvironment.allCases : [environment], settings: settings, redis: redis,
            at: clock.now())
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.array("stores", all) { $1.write(to: &$0) }
            json.endObject()
            Console.line(json.text)
        } else {
            for one in all { Console.line(one.text) }
        }
        return all.contains { $0.worry != nil } ? 1 : 0
    }

    // MARK: The work

    private func work(on job: RecoveryJob) async throws -> Int32 {
        try await AppleSession.with(settings, app, environment, redis: redis, loop: loop, log: log) { apple in
            let run = RecoveryRun(
                jobs: jobs,
                backfill: Backfill(
                    app: app.id, client: apple.client, verifier: NotificationVerifier(settings.appStore.verifier()),
                    seen: SeenNotifications(redis: redis, settings: settings.recovery), publisher: apple.publisher,
                    names: settings.broker.names, settings: settings.recovery, metrics: apple.metrics, log: log),
                settling: nil, metrics: apple.metrics, log: log)
            return try await work(on: job, run)
        }
    }

    private func work(on job: RecoveryJob, _ run: RecoveryRun) async throws -> Int32 {
        let progress = BackfillProgressLine("reading the notification history")
        defer { progress.clear() }
        do throws(RecoveryFailure) {
            while true {
                switch try await run.run(job.name, progress: { progress.show($0) }) {
                case .done(let done):
                    progress.clear()
                    return show(done)
                case .busy(let busy):
                    progress.show(busy, "another process is at it, ")
                    // Cancelled, the next look says what it thinks of it.
                    try? await Task.sleep(for: .seconds(1))
                case .idle:
                    // Somebody else brought it to its end.
                    let found: RecoveryJob?
                    do throws(StoreError) { found = try await jobs.job(job.name) } catch { throw .store(error) }
                    return show(found ?? job)
                }
            }
        } catch {
            progress.clear()
            Console.error("\(error)\ngo on with: holdfast backfill --resume \(job.name)")
            return 3
        }
    }

    private func show(_ job: RecoveryJob) -> Int32 {
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("app", app.id.rawValue)
            json.member("environment", environment.rawValue)
            job.write(to: &json)
            json.endObject()
            Console.line(json.text)
        } else {
            Console.line(job.summary)
        }
        let figures = job.history.figures
        return figures.unusable > 0 || job.taking == .nothing && figures.new > 0 ? 1 : 0
    }
}

extension RecoveryJob {
    /// For people.
    fileprivate var summary: String {
        let figures = history.figures
        var lines = ["\(history.from.rfc3339) to \(history.until.rfc3339), \(Int(history.fraction * 100)) % read"]
        lines.append("sent by Apple, by Apple's account  \(figures.sent)")
        lines.append("  which Apple could not deliver    \(figures.undelivered)")
        lines.append(
            "  not with us                      \(figures.new)\(taking == .nothing ? "" : ", sent through the line")")
        lines.append(
            "  with us already                  \(figures.known)\(taking == .all ? ", sent through the line" : "")")
        if figures.beyondMemory > 0 {
            lines.append(
                "  older than what is remembered    \(figures.beyondMemory)\(taking == .nothing ? "" : ", sent through the line")"
            )
        }
        if figures.unusable > 0 { lines.append("  not to be used                   \(figures.unusable)") }
        if lineages.found > 0 {
            lines.append(
                "subscriptions in doubt             \(lineages.found): \(lineages.settled) settled by asking, "
                    + "\(lineages.settledMeanwhile) by news, \(lineages.open) open, \(lineages.failed) failed")
        }
        return lines.joined(separator: "\n")
    }
}
