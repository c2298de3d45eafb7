package import Entitlements
package import Redis
internal import Runtime

/// Walks over every holder of an app, of both environments, a batch at a time, while the line runs.
///
/// Redis' SCAN gives every key that is there from beginning to end at least once, and holds up nobody. It may give a key
/// twice while its table is resized, and then soon after the first time: by the order in which it walks, only the keys of
/// the place where it is. So the last names are remembered and left out when they come again.
///
/// In a cluster one server comes after the other. A cursor can be kept and used by another process, so what `KeyScan` does
/// when keys move is not enough: while slots move, it says that it must wait; and once they have, `server` is another.
package struct HolderScan: Sendable {
    package static let beginning = "0"

    package struct Found: Sendable {
        package let environment: StoreEnvironment
        package let holder: Holder
        package let records: [LineageRecord]
    }

    package struct Batch: Sendable {
        package var found: [Found] = []
        /// Holders whose records this version cannot read.
        package var unreadable = 0
        package var cursor = HolderScan.beginning
        package var isLast: Bool { cursor == HolderScan.beginning }
        /// The server processes over which the cursor leads, and what of the keys each has; empty when we may not ask.
        package var server = ""
    }

    private let redis: any RedisCommands
    private let app: AppID
    private let keysAtOnce: Int
    private var recent: [String] = []
    private var recentNames: Set<String> = []
    private var oldest = 0

    private static let remembered = 50_000

    package init(redis: any RedisCommands, app: AppID, keysAtOnce: Int = 500) {
        self.redis = redis
        self.app = app
        self.keysAtOnce = keysAtOnce
    }

    /// The holders behind `cursor`.
    package mutating func batch(after cursor: String) async throws(StoreError) -> Batch {
        guard let place = Place(cursor) else { throw .redis(RedisError(.refused, "ERR “\(cursor)” is no cursor")) }
        let reply: RedisReply
        let servers: [any RedisCommands]
        do throws(RedisError) {
            servers = try await redis.parts()
            // There are fewer than before: whoever looks at `server` begins anew.
            guard place.part < servers.count else { return Batch(server: try await Self.identity(of: servers)) }
            reply = try await servers[place.part].send([
                "SCAN", .text(place.cursor), "MATCH", .text(StorageLayout.holderPattern(of: app)), "COUNT",
                RedisArgument(keysAtOnce), "TYPE", "hash",
            ])
        } catch { throw .redis(error) }
        guard let parts = reply.array, parts.count == 2, let next = parts[0].string, UInt64(next) != nil,
            let keys = parts[1].array
        else { throw .redis(RedisError(.unexpectedReply, "SCAN")) }
        var batch = Batch(cursor: place.next(next, of: servers.count))
        // Asked afterwards: a server that took the other's place in between is noticed.
        do { batch.server = try await Self.identity(of: servers) } catch { throw .redis(error) }
        var rest = keys.compactMap(\.string).filter { remember($0) }[...]
        while !rest.isEmpty {
            let some = rest.prefix(64)
            rest = rest.dropFirst(64)
            for found in try await read(Array(some)) {
                switch found {
                case .success(let found): batch.found.append(found)
                case .failure: batch.unreadable += 1
                }
            }
        }
        return batch
    }

    /// A cursor as it is kept: that of the one server, or `<number of the server>/<of how many>/<its cursor>`.
    private struct Place {
        var part = 0
        var count = 1
        var cursor = HolderScan.beginning

        init?(_ text: String) {
            let words = text.split(separator: "/")
            if words.count == 3, let part = Int(words[0]), let count = Int(words[1]), part >= 0, count > part {
                (self.part, self.count) = (part, count)
            } else if words.count != 1 {
                return nil
            }
            guard let last = words.last, UInt64(last) != nil else { return nil }
            cursor = String(last)
        }

        /// Where it goes on once a server has answered with `cursor`.
        func next(_ cursor: String, of count: Int) -> String {
            let part = cursor == HolderScan.beginning ? part + 1 : part
            if part >= count { return HolderScan.beginning }
            return count == 1 ? cursor : "\(part)/\(count)/\(cursor)"
        }
    }

    /// Whether `text` is a cursor at all.
    static func isCursor(_ text: String) -> Bool { Place(text) != nil }

    /// How much of the walk lies before `cursor`.
    package static func fraction(at cursor: String) -> Double {
        guard let place = Place(cursor) else { return 0 }
        return (Double(place.part) + fraction(ofServer: place.cursor)) / Double(place.count)
    }

    /// SCAN counts with the bits of the cursor in reverse.
    private static func fraction(ofServer cursor: String) -> Double {
        guard var rest = UInt64(cursor) else { return 0 }
        var reversed: UInt64 = 0
        for _ in 0..<64 {
            reversed = reversed << 1 | rest & 1
            rest >>= 1
        }
        return Double(reversed) / Double(UInt64.max)
    }

    private mutating func remember(_ key: String) -> Bool {
        guard recentNames.insert(key).inserted else { return false }
        if recent.count < Self.remembered {
            recent.append(key)
        } else {
            recentNames.remove(recent[oldest])
            recent[oldest] = key
            oldest = (oldest + 1) % Self.remembered
        }
        return true
    }

    private struct Unreadable: Error {}

    /// Reads holders in one round trip; those that are gone by now are left out.
    private func read(_ keys: [String]) async throws(StoreError) -> [Result<Found, Unreadable>] {
        let (redis, app) = (redis, app)
        let results = await withTaskGroup(of: Result<Result<Found, Unreadable>?, StoreError>.self) { group in
            for key in keys {
                group.addTask {
                    do throws(StoreError) { return .success(try await Self.read(key, app, redis)) } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var found: [Result<Found, Unreadable>] = []
        for result in results {
            if let one = try result.get() { found.append(one) }
        }
        return found
    }

    private static func read(
        _ key: String, _ app: AppID, _ redis: any RedisCommands
    ) async throws(StoreError) -> Result<Found, Unreadable>? {
        guard let (environment, holder) = StorageLayout.holder(ofKey: key, app: app) else { return nil }
        do throws(StoreError) {
            let stored = try await CustomerReader(redis: redis).read(key: key, app: app, environment: environment)
            // Only its revision is left of a holder whose lineages went elsewhere.
            if stored.records.isEmpty { return nil }
            return .success(Found(environment: environment, holder: holder, records: stored.records))
        } catch {
            if case .unreadable = error { return .failure(Unreadable()) }
            throw error
        }
    }

    /// Changes with every start of a server, as does the order in which it walks, and when slots have moved.
    private static func identity(of servers: [any RedisCommands]) async throws(RedisError) -> String {
        let results = await withTaskGroup(of: (Int, Result<String?, RedisError>).self) { group in
            for (index, server) in servers.enumerated() {
                group.addTask {
                    do throws(RedisError) {
                        return (index, .success(try await identity(of: server, isPart: servers.count > 1)))
                    } catch { return (index, .failure(error)) }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var identities: [String] = []
        for index in servers.indices {
            guard let identity = try results[index]?.get() else { return "" }
            identities.append(identity)
        }
        return identities.joined(separator: " ")
    }

    /// Nil when we may not ask.
    private static func identity(
        of server: any RedisCommands, isPart: Bool
    ) async throws(RedisError) -> String? {
        let info: String
        do { info = try await server.send(["INFO", "server"]).string ?? "" } catch {
            if error.code == .refused, !error.isRetryable { return nil }
            throw error
        }
        let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }
        guard let run = line?.dropFirst("run_id:".count) else { return nil }
        guard isPart else { return String(run) }
        let slots = try await ClusterView.slots(of: server)
        if slots.contains(where: { $0.hasPrefix("[") }) { throw RedisError(.refused, "TRYAGAIN slots are moving") }
        return "\(run)/\(CRC32C.checksum(Array(slots.joined(separator: " ").utf8)[...], seed: 0))"
    }
}
