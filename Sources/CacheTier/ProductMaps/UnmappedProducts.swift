package import Entitlements
package import Redis
package import Time

/// The products that notifications brought and no map knew: by name, for whoever mends the map.
package struct UnmappedProducts: Sendable {
    package struct Entry: Sendable, Hashable {
        package let environment: StoreEnvironment
        package let productID: String
        /// Notifications that brought it; 0 when only customers' records have it, since a map dropped it.
        package let notifications: UInt64
        package let firstSeen: Timestamp
        package let lastSeen: Timestamp
    }

    /// Names kept for each app; of more, only how often they came.
    package static let bound = 1000

    private let redis: any RedisCommands

    package init(redis: any RedisCommands) { self.redis = redis }

    package func note(
        _ productID: String, of app: AppID, in environment: StoreEnvironment, notifications: Int = 1,
        at instant: Timestamp
    ) async throws(StoreError) {
        do {
            _ = try await redis.evaluate(
                ProductMapScripts.noteUnmapped, keys: [StorageLayout.unmappedProducts(of: app)],
                arguments: [
                    .text(Self.field(productID, environment)), RedisArgument(max(0, instant.milliseconds)),
                    RedisArgument(notifications), RedisArgument(Self.bound),
                ])
        } catch { throw .redis(error) }
    }

    /// Those that `map` does not know, the last seen first; and how often products beyond the bound came.
    package func list(of app: AppID, notIn map: ProductMap) async throws(StoreError) -> ([Entry], more: UInt64) {
        let key = StorageLayout.unmappedProducts(of: app)
        let reply: RedisReply
        do { reply = try await redis.send(["HGETALL", .text(key)]) } catch {
            if error.isWrongType { throw .unreadable(key: key, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
        let fields = reply.array ?? []
        var entries: [Entry] = []
        var more: UInt64 = 0
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let field = fields[pair].string, let value = fields[pair + 1].string else { continue }
            if field == "more" { more = UInt64(value) ?? 0 }
            guard let entry = Self.entry(field, value), map[entry.productID] == nil else { continue }
            entries.append(entry)
        }
        entries.sort { ($1.lastSeen, $0.productID) < ($0.lastSeen, $1.productID) }
        return (entries, more)
    }

    /// Forgets those that `map` knows.
    package func forget(knownTo map: ProductMap, of app: AppID) async throws(StoreError) {
        let all = try await list(of: app, notIn: ProductMap()).0
        let known = all.filter { map[$0.productID] != nil }.map { Self.field($0.productID, $0.environment) }
        guard !known.isEmpty else { return }
        do {
            // Room for names that had none.
            _ = try await redis.send(
                ["HDEL", .text(StorageLayout.unmappedProducts(of: app)), "more"] + known.map { .text($0) })
        } catch { throw .redis(error) }
    }

    private static func field(_ productID: String, _ environment: StoreEnvironment) -> String {
        "\(environment == .production ? "p" : "s"):\(StorageLayout.escaped(productID))"
    }

    private static func entry(_ field: String, _ value: String) -> Entry? {
        let environment: StoreEnvironment
        switch field.prefix(2) {
        case "p:": environment = .production
        case "s:": environment = .sandbox
        default: return nil
        }
        let numbers = value.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 3, let id = StorageLayout.unescaped(field.dropFirst(2)) else { return nil }
        return Entry(
            environment: environment, productID: id, notifications: UInt64(max(0, numbers[0])),
            firstSeen: Timestamp(milliseconds: numbers[1]), lastSeen: Timestamp(milliseconds: numbers[2]))
    }
}
