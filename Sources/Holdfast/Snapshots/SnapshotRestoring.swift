import CacheTier
import Entitlements
import JSON
import Redis
import Runtime

/// `holdfast snapshot restore`: gives what a snapshot has to Redis.
enum SnapshotRestoring {
    static func run(_ path: String, _ arguments: CommandArguments) async throws -> Int32 {
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let rate = try arguments.integer("rate", in: 1...1_000_000) ?? settings.snapshot.seedRate
        let meta = try SnapshotFile(path, .readOnly).meta
        guard
            let former = meta.former
                ?? meta.store.map({
                    SnapshotMeta.Former(store: $0, positions: meta.positions, isComplete: meta.isComplete)
                })
        else {
            Console.error("\(path) is empty: it has followed no store yet")
            return 1
        }
        let loop = try EventLoop(name: "restore")
        let link = try settings.storeConnector(loop: loop, log: Log(part: "restore", minimum: .error)).link("restore")
        await link.start()
        let result: Result<Int32, any Error>
        do {
            result = .success(
                try await restore(
                    path, former, count: meta.holders, settings, rate: rate, link, asJSON: arguments.has("json")))
        } catch { result = .failure(error) }
        await link.close()
        loop.stop()
        return try result.get()
    }

    private static func restore(
        _ path: String, _ former: SnapshotMeta.Former, count: Int64, _ settings: HoldfastSettings, rate: Int,
        _ link: any RedisLink, asJSON: Bool
    ) async throws -> Int32 {
        let folder = settings.products.folder
        var maps = folder.map { ProductMaps.published(in: $0, of: settings.apps.map(\.id)) } ?? [:]
        for app in settings.apps {
            // What decides who has what must be what counts now, and the folder may be another gateway's.
            if let map = try await ProductMapStore(redis: link).published(of: app.id) { maps[app.id] = map }
        }
        let rules = Dictionary(
            uniqueKeysWithValues: settings.apps.map { app in
                let map = maps[app.id]?.map ?? app.map
                return (app.id, StoreRules(transfers: app.transfers, evaluation: app.policy) { map })
            })
        let store = LineageStore(redis: link, settings: settings.store, rules: rules)
        let seeder = SnapshotSeeder(redis: link, store: store, apps: Set(settings.apps.map(\.id)), rate: rate)
        let reader = try RowReader(path)
        var line = ProgressLine("giving back")
        var told = false
        while true {
            let outcome = try await seeder.run(former, count: count, maps: maps) {
                (path, limit) throws(SnapshotFailure) in
                try await reader.rows(after: path, limit: limit)
            } progress: { progress in
                line.show(
                    progress.fraction, "\(progress.lineages) subscriptions, \(progress.changed) were missing or older")
            }
            guard case .done(let done) = outcome else {
                if !told { Console.error("another process is at it; waiting for it to end") }
                told = true
                try await Task.sleep(for: .seconds(1))
                continue
            }
            line.clear()
            report(done, former, asJSON: asJSON)
            return done.unreadable > 0 ? 1 : 0
        }
    }

    private static func report(_ done: SnapshotSeeder.Progress, _ former: SnapshotMeta.Former, asJSON: Bool) {
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("store", former.store)
            json.member("complete", former.isComplete)
            json.member("rows", done.rows)
            json.member("lineages", done.lineages)
            json.member("changed", done.changed)
            json.member("unreadable", done.unreadable)
            json.member("foreign", done.foreign)
            json.member("maps", done.maps)
            json.endObject()
            print(json.text)
            return
        }
        print(
            "\(done.lineages) subscriptions and purchases of \(done.rows) customers were given to Redis; \(done.changed) "
                + "of them it lacked, or had older")
        if done.maps > 0 { print("\(done.maps) published product maps are back") }
        if done.foreign > 0 { print("\(done.foreign) are of apps that the settings do not have, and were left out") }
        if done.unreadable > 0 { print("\(done.unreadable) could not be read, and were left out") }
        if !former.isComplete {
            print("the snapshot was not complete: what it lacked may be in the ledger, see holdfast replay --apply")
        }
    }

    /// Reads the file on a thread of its own.
    private actor RowReader {
        private let loop: EventLoop
        private let path: String
        private var file: SnapshotFile?

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ path: String) throws(SystemError) {
            loop = try EventLoop(name: "restore-file")
            self.path = path
        }

        deinit { loop.stop() }

        func rows(after last: String, limit: Int) throws(SnapshotFailure) -> [SnapshotFile.Found] {
            if let file { return try file.page(after: last, limit: limit) }
            let opened = try SnapshotFile(path, .readOnly)
            file = opened
            return try opened.page(after: last, limit: limit)
        }
    }
}
