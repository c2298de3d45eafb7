package import Redis

/// Carries the keys of an embedded store over to a Redis, so that it ends with exactly those.
///
/// The layout key, which says which store it is, goes last: until it stands, nothing that is there counts. The embedded
/// store may have gone on after a move that was interrupted, so another one removes what that left, and begins anew.
package struct StoreMove: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        /// The Redis has a store of its own.
        case otherStore(found: String)
        case noStore
        case source(RedisError)
        case target(RedisError)

        package var description: String {
            switch self {
            case .otherStore(let found):
                """
                that Redis holds another store already (\(found)), and nothing was changed: name an empty one in redis.*, \
                or another redis.database
                """
            case .noStore: "there is no store in the file"
            case .source(let error): "the embedded store: \(error)"
            case .target(let error): "Redis: \(error)"
            }
        }
    }

    package struct Report: Sendable, Hashable {
        package var copied = 0
        /// What a move that was interrupted had left.
        package var removed = 0
        /// The move was over before it began.
        package var wasDone = false

        package init() {}
    }

    private let source: any RedisCommands
    private let target: any RedisCommands
    private let layoutKey: String

    package init(from source: any RedisCommands, to target: any RedisCommands, layoutKey: String) {
        self.source = source
        self.target = target
        self.layoutKey = layoutKey
    }

    /// `progress` is told how far it is, about, from 0 to 1.
    package func run(progress: (Report, Double) -> Void) async throws(Failure) -> Report {
        var report = Report()
        guard let layout = try await ask(["GET", .text(layoutKey)]).bytes else { throw .noStore }
        if try await hasLayout(layout) {
            report.wasDone = true
            return report
        }
        try await refuseParts()
        try await clear(layout, &report)
        let total = max(1, try await ask(["DBSIZE"]).integer ?? 1)
        var cursor = "0"
        repeat {
            let reply = try await ask(["SCAN", .text(cursor), "MATCH", "hf:*", "COUNT", "200"])
            guard let parts = reply.array, parts.count == 2, let next = parts[0].string, let keys = parts[1].array
            else {
                throw .source(RedisError(.unexpectedReply, "SCAN"))
            }
            cursor = next
            // What somebody founded in between must not be overwritten.
            _ = try await hasLayout(layout)
            for key in keys.compactMap(\.string) where key != layoutKey {
                if try await copy(key) { report.copied += 1 }
            }
            progress(report, min(1, Double(report.copied) / Double(total)))
        } while cursor != "0"
        let before = try await tell(["SET", .text(layoutKey), .bytes(layout), "NX", "GET"])
        // A consumer that was begun too early has founded one in between.
        if let found = before.bytes, found != layout {
            throw .otherStore(found: String(decoding: found, as: UTF8.self))
        }
        return report
    }

    /// Whether the target has the layout key; not when it is another store's.
    private func hasLayout(_ layout: [UInt8]) async throws(Failure) -> Bool {
        guard let found = try await tell(["GET", .text(layoutKey)]).bytes else { return false }
        guard found == layout else { throw .otherStore(found: String(decoding: found, as: UTF8.self)) }
        return true
    }

    /// In a cluster each partition has a layout key. One that lost a server is a store all the same.
    private func refuseParts() async throws(Failure) {
        var scan = KeyScan(redis: target, matching: "hf:{p[0-9][0-9]}:layout", count: 1000)
        while let keys = try await next(&scan) {
            guard let key = keys.first else { continue }
            throw .otherStore(found: try await tell(["GET", .text(key)]).string ?? key)
        }
    }

    /// Removes what is there of Holdfast's. The layout key does not stand, so nobody takes it for a store.
    private func clear(_ layout: [UInt8], _ report: inout Report) async throws(Failure) {
        var scan = KeyScan(redis: target, matching: "hf:*", count: 200)
        while let keys = try await next(&scan) {
            guard !keys.isEmpty else { continue }
            _ = try await hasLayout(layout)
            for key in keys where key != layoutKey {
                report.removed += Int(try await tell(["DEL", .text(key)]).integer ?? 0)
            }
        }
    }

    private func next(_ scan: inout KeyScan) async throws(Failure) -> [String]? {
        do throws(RedisError) { return try await scan.next() } catch { throw .target(error) }
    }

    /// False when it is not there any more.
    private func copy(_ key: String) async throws(Failure) -> Bool {
        let type = try await ask(["TYPE", .text(key)]).string
        let left = try await ask(["PTTL", .text(key)]).integer ?? -1
        switch type {
        case "string":
            guard let value = try await ask(["GET", .text(key)]).bytes else { return false }
            return try await write("SET", key, left, [.bytes(value)])
        case "hash": return try await write("HSET", key, left, try await elements(["HGETALL", .text(key)]))
        case "list": return try await write("RPUSH", key, left, try await elements(["LRANGE", .text(key), "0", "-1"]))
        case "zset":
            let pairs = try await elements(["ZRANGE", .text(key), "0", "-1", "WITHSCORES"])
            var turned: [RedisArgument] = []
            for pair in stride(from: 0, to: pairs.count - 1, by: 2) { turned += [pairs[pair + 1], pairs[pair]] }
            return try await write("ZADD", key, left, turned)
        case "stream": return try await copyStream(key)
        // It has expired meanwhile.
        default: return false
        }
    }

    private func elements(_ command: [RedisArgument]) async throws(Failure) -> [RedisArgument] {
        (try await ask(command).array ?? []).compactMap { $0.bytes.map { .bytes($0) } }
    }

    private static let create = RedisScript(
        """
        redis.call('DEL', KEYS[1])
        for first = 3, #ARGV, 1000 do
            redis.call(ARGV[1], KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
        end
        if tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return 1
        """)

    private func write(
        _ command: RedisArgument, _ key: String, _ left: Int64, _ elements: [RedisArgument]
    ) async throws(Failure) -> Bool {
        guard !elements.isEmpty else { return false }
        do throws(RedisError) {
            _ = try await target.evaluate(
                Self.create, keys: [key], arguments: [command, RedisArgument(left)] + elements)
        } catch { throw .target(error) }
        return true
    }

    /// Entries keep their ids, so that whoever follows by position goes on. One that was trimmed is made to look it: who
    /// is further behind than it reaches must notice.
    private func copyStream(_ key: String) async throws(Failure) -> Bool {
        let info = try await ask(["XINFO", "STREAM", .text(key)]).array ?? []
        var (added, length): (Int64, Int64) = (0, 0)
        for pair in stride(from: 0, to: info.count - 1, by: 2) {
            if info[pair].string == "entries-added" { added = info[pair + 1].integer ?? 0 }
            if info[pair].string == "length" { length = info[pair + 1].integer ?? 0 }
        }
        _ = try await tell(["DEL", .text(key)])
        if added != length {
            _ = try await tell(["XADD", .text(key), "0-1", "trimmed", "1"])
            _ = try await tell(["XTRIM", .text(key), "MAXLEN", "0"])
        }
        var place = "0-0"
        var hasCopied = false
        while true {
            let reply = try await ask(["XREAD", "COUNT", "500", "STREAMS", .text(key), .text(place)])
            let entries = reply.array?.first?.array?.last?.array ?? []
            guard !entries.isEmpty else { return hasCopied }
            for entry in entries {
                guard let parts = entry.array, parts.count == 2, let id = parts[0].string else {
                    throw .source(RedisError(.unexpectedReply, "XREAD"))
                }
                let fields = (parts[1].array ?? []).compactMap { $0.bytes.map { RedisArgument.bytes($0) } }
                _ = try await tell(["XADD", .text(key), .text(id)] + fields)
                place = id
                hasCopied = true
            }
        }
    }

    private func ask(_ command: [RedisArgument]) async throws(Failure) -> RedisReply {
        do { return try await source.send(command) } catch { throw .source(error) }
    }

    private func tell(_ command: [RedisArgument]) async throws(Failure) -> RedisReply {
        do { return try await target.send(command) } catch { throw .target(error) }
    }
}
