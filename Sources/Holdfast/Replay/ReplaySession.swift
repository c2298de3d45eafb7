import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import Glibc
import Redis
import Replay
import Runtime
import Time

/// One run of `holdfast replay`, with its connections.
struct ReplaySession {
    let options: ReplayOptions
    let settings: HoldfastSettings
    let interruption: Interruption
    let redis: any RedisLink
    let ledger: LedgerAccess
    let revocation: RevocationChecker?
    let now: Timestamp
    let progress = ReplayProgress()

    static func with(
        _ options: ReplayOptions, _ settings: HoldfastSettings, _ interruption: Interruption,
        _ body: (ReplaySession) async throws -> Int32
    ) async throws -> Int32 {
        let loop = try EventLoop(name: "replay")
        let log = Log(part: "replay", minimum: .error)
        let redis = try settings.storeConnector(loop: loop).link("replay")
        let revocation =
            settings.appStore.revocation.mode == .off
            ? nil
            : RevocationChecker(
                settings: settings.appStore.revocation, loop: try EventLoop(name: "ocsp"), metrics: Metrics(), log: log)
        let session = ReplaySession(
            options: options, settings: settings, interruption: interruption, redis: redis,
            ledger: try await LedgerAccess(settings), revocation: revocation, now: WallClock.system.now())
        await redis.start()
        try await revocation?.start()
        let result: Result<Int32, any Error>
        do { result = .success(try await body(session)) } catch { result = .failure(error) }
        session.progress.end()
        await session.ledger.close()
        await revocation?.drain()
        await redis.close()
        loop.stop()
        return try result.get()
    }

    func run() async throws -> Int32 {
        switch options.work {
        case .compareLive: try await compareLive()
        case .out(let path): try await write(to: path)
        case .against(let path): try await compare(with: path)
        case .customer(let customer): try await explain(customer)
        case .apply: try await apply()
        case .export(let path): try await export(to: path)
        }
    }

    // MARK: Parts

    /// What was read, as far as it is known before reading.
    enum Source {
        case files(FileSource)
        case ledger(any LedgerMessages)

        var messages: any MessageSource {
            switch self {
            case .files(let source): source
            case .ledger(let source): source
            }
        }
    }

    func source(through end: Int64? = nil) async throws(ReplayError) -> Source {
        guard options.files.isEmpty else {
            return .files(try FileSource(options.files, app: options.app?.rawValue))
        }
        return .ledger(try await ledger.messages(from: options.start, through: options.lastOffset ?? end))
    }

    var scope: ReplayScope {
        ReplayScope(
            app: options.app, environment: options.environment, receivedSince: options.receivedSince,
            receivedUntil: options.asKnownAt ?? options.receivedUntil)
    }

    func replayer(_ scope: ReplayScope) -> Replayer {
        // The limit is there to keep forgers from costing much; this reads what was accepted before.
        var limits = settings.appStore.limits
        limits.unknownChainsPerSecond = 100_000
        let verifier = JWSVerifier(roots: settings.appStore.roots, limits: limits)
        let decoder = MessageDecoder(
            apps: Dictionary(
                uniqueKeysWithValues: settings.apps.map { ($0.id, ConsumerApp(identity: $0.identity, map: $0.map)) }),
            verifier: NotificationVerifier(verifier), revocation: revocation)
        return Replayer(
            decoder: decoder, scope: scope, now: now, workers: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            interruption: interruption)
    }

    /// Folds all of the source, or as much as there was time for.
    func fold(
        _ source: Source, _ replayer: Replayer, _ tally: inout ReplayTally
    ) async throws(ReplayError) -> Fold {
        var fold = Fold(limit: options.maximumLineages)
        let messages = source.messages
        try await replayer.run(messages, tally: &tally) { tally in
            progress.show("messages", tally.messages, share: await messages.share)
        } take: { judged throws(ReplayError) in
            for observation in judged.lazy.flatMap(\.observations) { try fold.fold(observation) }
        }
        try fold.settle()
        progress.end()
        return fold
    }

    /// What answers are made by: the maps that are published, or those of the settings.
    func rules(needingRedis: Bool) async throws(ReplayError) -> [AppID: AppRules] {
        var rules = settings.rules
        let maps = ProductMapStore(redis: redis)
        for app in settings.apps {
            do throws(StoreError) {
                if let map = try await maps.published(of: app.id)?.map { rules[app.id]?.products = map }
            } catch {
                guard !needingRedis, case .redis = error else { throw .store(error) }
                Console.error(
                    "Redis does not answer, so the settings' product map counts and not a published one: \(error)")
                return settings.rules
            }
        }
        return rules
    }
}
