package import Entitlements
package import Redis
package import Runtime
internal import Synchronization

/// The product maps in force, for a whole process: the published ones, followed in Redis; as long as none was published,
/// those of the settings.
///
/// What counts next is decided here alone:
///
/// | Redis says | then |
/// |---|---|
/// | a version that this process has not | it counts at once, a smaller number too: Redis may have been restored |
/// | none, and none was ever seen | the settings' map counts |
/// | none, and one was seen before | the one seen stays: Redis lost its data, and nobody is downgraded for it (invariant 5) |
/// | one that cannot be read | the one seen stays, until this version of Holdfast is replaced |
/// | nothing, it cannot be reached | the one seen stays; after a start, the one on the disk |
package final class ProductMaps: Service, ProductMapSource {
    package let name = "product-maps"
    private let settings: ProductMapSettings
    private let redis: any RedisLink
    private let store: ProductMapStore
    private let disk: ProductMapDisk?
    private let apps: [AppID]
    private let maps: Mutex<[AppID: Held]>
    private let generations = Atomic<UInt64>(1)
    private let metrics: Metrics
    private let log: Log
    private let following = Mutex<Task<Void, Never>?>(nil)

    private struct Held: Sendable {
        var inForce: ProductMapInForce
        /// Nil for the settings' map.
        var published: PublishedProductMap?
        /// What was complained of last, so that it is said once.
        var complaint = ""
    }

    /// Makes its own connection to Redis. `maps` are those of the settings.
    package init(
        _ maps: [AppID: ProductMap], settings: ProductMapSettings, redis: RedisConnector,
        metrics: Metrics, log: Log
    ) {
        self.settings = settings
        self.metrics = metrics
        self.log = log.part("product-maps")
        apps = maps.keys.sorted { $0.rawValue < $1.rawValue }
        self.maps = Mutex(maps.mapValues { Held(inForce: ProductMapInForce(map: $0, generation: 0)) })
        self.redis = redis.link("product-maps")
        store = ProductMapStore(redis: self.redis)
        disk = settings.folder.map { ProductMapDisk(folder: $0) }
    }

    package func current(of app: AppID) -> ProductMapInForce? { maps.withLock { $0[app]?.inForce } }

    /// The number of the published map in force; 0 for the settings'.
    package func version(of app: AppID) -> UInt64 { maps.withLock { $0[app]?.published?.version } ?? 0 }

    // MARK: Following

    /// Looks at Redis once for each app, however it goes.
    private func look() async {
        for app in apps {
            do throws(StoreError) {
                let current = try await store.current(of: app)
                let held = maps.withLock { $0[app]?.published }
                guard let current else {
                    if let held { complain(app, "Redis has no product map any more; version \(held.version) stays") }
                    isLive(app, held == nil)
                    continue
                }
                if current.version != held?.version || current.digest != held?.facts.digest {
                    guard let map = try await store.version(current.version, of: app) else {
                        throw .unreadable(
                            key: "\(app)", reason: "version \(current.version) is not there", isNewer: false)
                    }
                    await adopt(map, of: app)
                }
                isLive(app, true)
                maps.withLock { $0[app]?.complaint = "" }
            } catch {
                isLive(app, false)
                // A lost connection is the client's to complain about.
                if case .redis(let cause) = error, cause.code != .refused { return }
                complain(app, "\(error)")
            }
        }
    }

    private func adopt(_ map: PublishedProductMap, of app: AppID) async {
        let before = take(map, of: app)
        log.info(
            "another product map counts",
            [
                "app": .init(app), "version": .init(map.version), "before": .init(before),
                "products": .init(map.facts.products), "by": .init(map.facts.by), "sha256": .init(map.facts.digest),
            ])
        guard let disk else { return }
        do throws(SystemError) {
            try await Self.onOwnThread { () throws(SystemError) in try disk.save(map, of: app) }
        } catch {
            log.error(
                "the product map cannot be kept on the disk: a start without Redis would go back to an older one",
                ["app": .init(app), "folder": .init(disk.folder), "error": .init(error)])
        }
    }

    /// Returns the number of the one before.
    @discardableResult
    private func take(_ map: PublishedProductMap, of app: AppID) -> UInt64 {
        let generation = generations.wrappingAdd(1, ordering: .relaxed).oldValue
        let before = maps.withLock { maps in
            let before = maps[app]?.published?.version ?? 0
            maps[app] = Held(
                inForce: ProductMapInForce(map: map.map, generation: generation), published: map)
            return before
        }
        show(map.version, of: app)
        return before
    }

    private func complain(_ app: AppID, _ complaint: String) {
        let isNew = maps.withLock { maps in
            defer { maps[app]?.complaint = complaint }
            return maps[app]?.complaint != complaint
        }
        if isNew {
            log.error("the product map in force may be outdated", ["app": .init(app), "why": .init(complaint)])
        }
    }

    private func follow() async {
        while !Task.isCancelled {
            guard await redis.waitUntilConnected(within: .seconds(1)) else {
                for app in apps { isLive(app, false) }
                continue
            }
            await look()
            // Cancelled means draining, which the loop looks for next.
            try? await Task.sleep(for: settings.followEvery)
        }
    }

    // MARK: A store that lost data

    /// The published maps that this process goes by, or that are on the disk of a process that keeps them.
    package func published() -> [AppID: PublishedProductMap] { maps.withLock { $0.compactMapValues(\.published) } }

    /// What `folder` has, for a command.
    package static func published(
        in folder: String, of apps: some Sequence<AppID>
    ) -> [AppID: PublishedProductMap] {
        var found: [AppID: PublishedProductMap] = [:]
        for app in apps {
            if case .map(let map) = ProductMapDisk(folder: folder).load(app) { found[app] = map }
        }
        return found
    }

    // MARK: Disk

    private func load(from disk: ProductMapDisk) async {
        let apps = apps
        let found = await Self.onOwnThread { apps.map { ($0, disk.load($0)) } }
        for (app, found) in found {
            switch found {
            case .nothing: break
            case .map(let map):
                take(map, of: app)
                log.info(
                    "the last product map seen counts until Redis is asked",
                    ["app": .init(app), "version": .init(map.version), "sha256": .init(map.facts.digest)])
            case .setAside(let reason, let path):
                log.error(
                    "the product map on the disk cannot be read and was set aside",
                    ["app": .init(app), "reason": .init(reason), "path": .init(path)])
            case .failure(let error):
                log.error("the product map on the disk cannot be read", ["app": .init(app), "error": .init(error)])
            }
        }
    }

    /// Swift's pool must not wait for a disk.
    private static func onOwnThread<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = {
                do throws(Failure) { continuation.resume(returning: .success(try body())) } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            // Without a thread to be had it is better done here than not at all.
            do throws(SystemError) { try Thread.start(name: "product-maps", work) } catch { work() }
        }
        return try result.get()
    }

    // MARK: Metrics

    private func show(_ version: UInt64, of app: AppID) {
        metrics.gauge(
            "holdfast_product_map_version", "The published product map in force; 0 for the settings'.",
            labels: ["app": app.rawValue]
        ).set(Double(version))
    }

    private func isLive(_ app: AppID, _ value: Bool) {
        metrics.gauge(
            "holdfast_product_map_live", "Whether the product map in force is known to be the one that Redis has.",
            labels: ["app": app.rawValue]
        ).set(value ? 1 : 0)
    }

    // MARK: Service

    /// Returns once the disk was read and Redis was looked at, or could not be reached.
    package func start() async {
        for app in apps {
            show(0, of: app)
            isLive(app, false)
        }
        if let disk { await load(from: disk) }
        await redis.start()
        if redis.isConnected { await look() }
        following.withLock { $0 = Task(name: "product-maps") { await follow() } }
    }

    package func drain() async {
        let task = following.withLock { $0.take() }
        task?.cancel()
        await redis.close()
        await task?.value
    }
}
