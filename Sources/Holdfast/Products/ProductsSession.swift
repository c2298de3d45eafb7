import Broker
import CacheTier
import Consumer
import Entitlements
import Glibc
import Redis
import Runtime
import Time

/// What the verbs of `holdfast products` share: the app, Redis, and the map that counts.
struct ProductsSession {
    let settings: HoldfastSettings
    let app: AppSettings
    let redis: any RedisLink
    let store: ProductMapStore
    let clock = WallClock.system

    /// The settings' map, version 0.
    var settingsDocument: ProductMapDocument { ProductMapDocument(products: app.map.products) }

    /// Gives `body` a session, and closes it afterwards.
    static func with(
        _ arguments: CommandArguments, _ body: (ProductsSession) async throws -> Int32
    ) async throws -> Int32 {
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try settings.app(named: arguments.value("app"))
        let loop = try EventLoop(name: "products")
        let redis = try settings.storeConnector(loop: loop, log: Log(part: "products", minimum: .error)).link(
            "products")
        await redis.start()
        let result: Result<Int32, any Error>
        do {
            result = .success(
                try await body(
                    ProductsSession(
                        settings: settings, app: app, redis: redis, store: ProductMapStore(redis: redis))))
        } catch { result = .failure(error) }
        await redis.close()
        loop.stop()
        return try result.get()
    }

    /// The map that counts: its number, document and name for people.
    func current() async throws -> (version: UInt64, document: ProductMapDocument) {
        guard let published = try await store.published(of: app.id) else { return (0, settingsDocument) }
        return (published.version, published.document)
    }

    /// The version `text` names: a number, `current`, or `settings`; throws when there is none.
    func version(_ text: String?) async throws -> (
        version: UInt64, facts: PublishedProductMap.Facts?, ProductMapDocument
    ) {
        if text == "settings" { return (0, nil, settingsDocument) }
        if text == nil || text == "current" {
            guard let published = try await store.published(of: app.id) else { return (0, nil, settingsDocument) }
            return (published.version, published.facts, published.document)
        }
        guard let number = text.flatMap({ UInt64($0) }) else {
            throw UsageError("\(text ?? "") is no version: give a number, current or settings")
        }
        if let map = try await store.version(number, of: app.id) { return (number, map.facts, map.document) }
        if number == 0 { return (0, nil, settingsDocument) }
        throw NoSuchVersion(app: app.id, version: number)
    }

    struct NoSuchVersion: Error {
        let app: AppID
        let version: UInt64
        var sentence: String {
            "\(app) has no product map version \(version); holdfast products list shows what it has"
        }
    }

    // MARK: Counting and telling

    func impact(
        of document: ProductMapDocument, over current: (version: UInt64, document: ProductMapDocument), samples: Int
    ) async throws -> ProductMapImpact {
        var impact = ProductMapImpact(
            from: ProductMap(version: "\(current.version)", products: current.document.products),
            to: ProductMap(version: "new", products: document.products), policy: app.policy, at: clock.now(),
            samples: samples)
        var line = ProgressLine("counting customers")
        defer { line.clear() }
        // Founding a store is not for looking at one, but an empty one has nobody to count either.
        try await impact.count(app.id, HolderScan(redis: redis, app: app.id)) { line.show($0) }
        return impact
    }

    /// Finishes what is left to be told of published maps, or watches whoever is at it; returns the newest state.
    func recompute() async throws -> [Recomputation] {
        let log = Log(part: "products", minimum: max(settings.logLevel, .warning))
        let publisher = try BrokerPublisher(settings: settings.broker, metrics: Metrics(), log: log)
        try await publisher.start()
        let recomputer = ProductMapRecomputer(
            redis: redis, settings: settings.products, publisher: publisher, names: settings.broker.names,
            consumer: settings.consumer)
        let result: Result<[Recomputation], any Error>
        do { result = .success(try await recompute(recomputer)) } catch { result = .failure(error) }
        await publisher.drain()
        return try result.get()
    }

    private func recompute(_ recomputer: ProductMapRecomputer) async throws -> [Recomputation] {
        var line = ProgressLine("telling of customers whose answer changed")
        defer { line.clear() }
        var done: [Recomputation] = []
        var watched: UInt64?
        while true {
            switch try await recomputer.run(
                app.id, policy: app.policy, progress: { line.show($0.fraction, $0.summary) })
            {
            case .done(let finished):
                done += finished
                // What another process did counts as done, too.
                if let watched, !done.contains(where: { $0.version == watched }) {
                    done += try await store.versions(of: app.id).compactMap(\.recomputation).filter {
                        $0.version == watched
                    }
                }
                return done
            case .busy(let state):
                watched = state.version
                line.show(state.fraction, "another process is at it, \(state.summary)")
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension Recomputation {
    /// For people; the environments are never added up.
    var summary: String {
        StoreEnvironment.allCases.map { "\($0.rawValue) \(self[$0].changed) of \(self[$0].customers)" }
            .joined(separator: ", ")
    }
}

extension HoldfastSettings {
    /// The app that `name` names, or the only one.
    func app(named name: String?) throws(UsageError) -> AppSettings {
        let names = apps.map(\.id.rawValue)
        guard let name else {
            guard apps.count == 1 else {
                throw UsageError("say which app with --app: \(names.joined(separator: ", "))")
            }
            return apps[0]
        }
        guard let app = apps.first(where: { $0.id.rawValue == name }) else {
            throw UsageError("the settings have no app \(name); they have \(names.joined(separator: ", "))")
        }
        return app
    }
}
