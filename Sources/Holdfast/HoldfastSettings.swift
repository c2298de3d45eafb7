import AppStore
import Broker
import CacheTier
import Consumer
import EmbeddedStore
import Entitlements
import Gateway
import Glibc
import HTTP
import JSON
import Redis
import Runtime

/// All settings of a process, each part's read by the part itself.
struct HoldfastSettings: Sendable {
    enum LogLevel: String, CaseIterable { case debug, info, warning, error }

    let logLevel: Log.Level
    let drainDeadline: Duration
    let apps: [AppSettings]
    let appStore: AppStoreSettings
    let appStoreAPI: ServerAPISettings
    let appleHealth: AppleHealthSettings
    let broker: BrokerSettings
    let redis: RedisSettings
    let store: StoreSettings
    let embedded: EmbeddedSettings
    /// What is open of it in this process; a command at a terminal has none of it open for long.
    var embeddedParts = EmbeddedParts()
    let cache: CacheSettings
    let snapshot: SnapshotSettings
    let products: ProductMapSettings
    let recovery: RecoverySettings
    let backfill: BackfillSettings
    let reconcile: ReconcileSettings
    let drift: DriftSettings
    let alarms: AlarmSettings
    var gateway: GatewaySettings
    let consumer: ConsumerSettings
    var consumerOperations: HTTPServerSettings

    init(_ reader: inout SettingsReader) {
        apps = AppSettings.all(&reader)
        appStore = AppStoreSettings(&reader)
        appStoreAPI = ServerAPISettings(&reader)
        appleHealth = AppleHealthSettings(&reader)
        gateway = GatewaySettings(&reader)
        let known = Set(apps.map(\.id))
        for key in gateway.keys {
            for stranger in (key.apps ?? []).subtracting(known).map(\.rawValue).sorted() {
                reader.complain(about: "keys.\(key.name).apps", "there is no app \(stranger)")
            }
        }
        broker = BrokerSettings(&reader)
        consumer = ConsumerSettings(&reader)
        consumerOperations = HTTPServerSettings(
            &reader, name: "consumer-operations", prefix: "consumer.operations.", defaultAddress: "127.0.0.1:8082")
        redis = RedisSettings(&reader)
        store = StoreSettings(&reader)
        embedded = EmbeddedSettings(&reader)
        cache = CacheSettings(&reader)
        snapshot = SnapshotSettings(&reader, besides: gateway.spool.folder)
        products = ProductMapSettings(&reader, besides: gateway.spool.folder)
        recovery = RecoverySettings(&reader)
        backfill = BackfillSettings(&reader)
        reconcile = ReconcileSettings(&reader)
        drift = DriftSettings(&reader)
        alarms = AlarmSettings(&reader)
        drainDeadline = reader.duration(
            "process.drainDeadline", default: .seconds(25), in: .seconds(1) ... .seconds(600),
            "How long a process that was told to stop finishes what is in hand.")
        let level = reader.choice("log.level", default: LogLevel.info, "The least level that is logged.")
        logLevel =
            switch level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }

    /// Links for a command at a terminal to where the store lies, each to be started and closed.
    func storeConnector(loop: EventLoop, log: Log = .discarding) throws(SystemError) -> RedisConnector {
        guard embedded.store == .embedded else { return redis.connector(loop: loop, log: log) }
        var file = embedded.storeFile
        // A folder that was mistyped shall not become another store.
        file.makesFile = false
        let store = try EmbeddedRedis(settings: file, log: log)
        return RedisConnector { EmbeddedLink(name: $0, store: store, ownsStore: true) }
    }

    /// What the store must know of each app.
    func storeRules(_ maps: any ProductMapSource) -> [AppID: StoreRules] {
        Dictionary(
            uniqueKeysWithValues: apps.map { app in
                (
                    app.id,
                    StoreRules(transfers: app.transfers, evaluation: app.policy) {
                        maps.current(of: app.id)?.map ?? app.map
                    }
                )
            })
    }

    /// What each app's answers are made by.
    var rules: [AppID: AppRules] {
        Dictionary(uniqueKeysWithValues: apps.map { ($0.id, AppRules(products: $0.map, policy: $0.policy)) })
    }

    /// Keeps the listeners from taking all `files` that this process may open.
    mutating func leaveFiles(of files: Int, log: Log) {
        let room = ConnectionRoom(files: files)
        _ = gateway.operations.limitConnections(to: room.operations)
        _ = consumerOperations.limitConnections(to: room.operations)
        if gateway.http.limitConnections(to: room.open) {
            log.warning(
                "the limit of open files allows fewer connections than the settings",
                ["files": .init(files), "connections": .init(room.open)])
        }
    }

    /// Reads and checks the settings of this process; throws all mistakes at once.
    static func load(path: String?) throws -> HoldfastSettings {
        guard var reader = try reader(path: path) else {
            throw UsageError("name the settings file with --settings FILE or HOLDFAST_SETTINGS")
        }
        let settings = HoldfastSettings(&reader)
        try reader.finish()
        return settings
    }

    /// A reader over the file at `path`, or at HOLDFAST_SETTINGS, and this process's environment; nil when neither names
    /// a file.
    static func reader(path: String?) throws -> SettingsReader? {
        guard let path = path ?? environmentPath else { return nil }
        let bytes: [UInt8]
        do { bytes = try File.regularBytes(at: path, limit: 4 << 20) } catch { throw UsageError("\(error)") }
        do {
            return SettingsReader(
                file: try JSONValue.parse(bytes, allowingComments: true), environment: processEnvironment)
        } catch {
            throw UsageError("\(path), \(place(of: error, in: bytes)): \(error.code.rawValue)")
        }
    }

    /// Where the settings are if no argument says so.
    static var environmentPath: String? { processEnvironment["HOLDFAST_SETTINGS"] }

    /// Line, column and what stands there, for whoever has the file open.
    private static func place(of error: JSONError, in bytes: [UInt8]) -> String {
        let before = bytes.prefix(error.offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.count - (before.lastIndex(of: UInt8(ascii: "\n")) ?? -1)
        let rest = bytes.dropFirst(error.offset).prefix { $0 != UInt8(ascii: "\n") }.prefix(20)
        return "line \(line), column \(column), at “\(String(decoding: rest, as: UTF8.self))”"
    }

    private static var processEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}
