package import Entitlements
package import Redis

/// Goes through everything that the store holds, without stopping Redis for it (SCAN): lineages by their locators, and
/// the holders that have copies.
///
/// What is there from beginning to end comes at least once; what comes or goes meanwhile may or may not.
package struct LineageScan: Sendable {
    package struct Page: Sendable {
        /// Each has a locator.
        package var lineages: [LineageID] = []
        /// Lineages in a holder's hash that are not in their locator: nobody keeps these in step, and reads serve them.
        package var strays: [Stray] = []
    }

    package struct Stray: Sendable, Hashable {
        package let lineage: LineageID
        package let holder: Holder
    }

    private let redis: any RedisCommands
    private let apps: Set<AppID>
    private var keys: KeyScan

    /// Lineages of other apps than these are passed over.
    package init(redis: any RedisCommands, apps: Set<AppID>) {
        self.redis = redis
        self.apps = apps
        keys = KeyScan(redis: redis, matching: "hf:*")
    }

    /// The next ones, possibly none; nil at the end.
    package mutating func next() async throws(StoreError) -> Page? {
        let found: [String]?
        do { found = try await keys.next() } catch { throw .redis(error) }
        guard let found else { return nil }
        var page = Page()
        for key in found {
            switch StoredKey(key) {
            case .lineage(let lineage) where apps.contains(lineage.app): page.lineages.append(lineage)
            case .holder(let holder, let app, let environment) where apps.contains(app):
                page.strays += try await strays(of: holder, key, app, environment)
            case .lineage, .holder, nil: continue
            }
        }
        return page
    }

    private func strays(
        of holder: Holder, _ key: String, _ app: AppID, _ environment: StoreEnvironment
    ) async throws(StoreError) -> [Stray] {
        var strays: [Stray] = []
        for field in try await send(["HKEYS", .text(key)]).array ?? [] {
            guard let field = field.string,
                let lineage = StorageLayout.lineageID(field: field, app: app, environment: environment)
            else { continue }
            if try await isKnown(holder, lineage) { continue }
            // It may have been written a moment before its locator was read, or removed since.
            guard try await send(["HEXISTS", .text(key), .text(field)]).integer == 1,
                try await !isKnown(holder, lineage)
            else { continue }
            strays.append(Stray(lineage: lineage, holder: holder))
        }
        return strays
    }

    private func isKnown(_ holder: Holder, _ lineage: LineageID) async throws(StoreError) -> Bool {
        let locator = StorageLayout.locator(of: lineage)
        let fields = try await send(["HMGET", .text(locator), "holder", .text("copy:\(holder.id)")]).array ?? []
        let holders = fields.first?.string?.split(separator: " ") ?? []
        return holders.contains { $0 == holder.id } || fields.count == 2 && !fields[1].isNull
    }

    private func send(_ command: [RedisArgument]) async throws(StoreError) -> RedisReply {
        do { return try await redis.send(command) } catch {
            if error.isWrongType { throw .unreadable(key: "hf:*", reason: error.message, isNewer: false) }
            throw .redis(error)
        }
    }
}

/// What a key of the store stands for (`StorageLayout`).
enum StoredKey {
    case lineage(LineageID)
    case holder(Holder, AppID, StoreEnvironment)

    /// Nil for every other key, also for one that lies in another partition than its own: nobody looks there.
    init?(_ key: String) {
        let parts = key.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "hf", let app = StorageLayout.unescaped(parts[2]),
            let environment = StoreEnvironment.allCases.first(where: {
                StorageLayout.scope(AppID(app), $0) == "\(parts[2]):\(parts[3])"
            }),
            StorageLayout.key(parts[2...].joined(separator: ":")) == key
        else { return nil }
        switch parts[4] {
        case "lineage":
            guard let id = StorageLayout.unescaped(parts[5]) else { return nil }
            self = .lineage(LineageID(app: AppID(app), environment: environment, originalTransactionID: id))
        case "holder":
            guard let holder = Holder(id: String(parts[5])) else { return nil }
            self = .holder(holder, AppID(app), environment)
        default: return nil
        }
    }
}
