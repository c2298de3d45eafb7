package import Entitlements
package import Redis
package import Time

/// The versions of the apps' product maps in Redis: numbered, never overwritten, never removed.
package struct ProductMapStore: Sendable {
    let redis: any RedisCommands
    private let layout: LayoutGuard

    package init(redis: any RedisCommands) {
        self.redis = redis
        layout = LayoutGuard(redis: redis)
    }

    /// Which version counts, and the digest of its document.
    package struct Current: Sendable, Hashable {
        package let version: UInt64
        package let digest: String
    }

    package enum Publication: Sendable, Hashable {
        case published(version: UInt64)
        /// Another version counts than the publisher has seen.
        case conflict(current: UInt64)
    }

    // MARK: Reading

    /// Nil while nothing was published: the settings' map counts.
    package func current(of app: AppID) async throws(StoreError) -> Current? {
        try await layout.verify()
        guard let text = try await send("HGET", app, ["current"]).string else { return nil }
        let parts = text.split(separator: " ")
        guard parts.count == 2, let version = UInt64(parts[0]), version > 0 else {
            throw unreadable(app, "current is “\(text)”")
        }
        return Current(version: version, digest: String(parts[1]))
    }

    /// The version that counts; nil while nothing was published.
    package func published(of app: AppID) async throws(StoreError) -> PublishedProductMap? {
        guard let current = try await current(of: app) else { return nil }
        guard let map = try await version(current.version, of: app) else {
            throw unreadable(app, "version \(current.version) is not there")
        }
        return map
    }

    /// Nil when there is none of this number.
    package func version(_ version: UInt64, of app: AppID) async throws(StoreError) -> PublishedProductMap? {
        try await layout.verify()
        let reply = try await send("HMGET", app, ["m:\(version)", "d:\(version)"])
        guard let values = reply.array, values.count == 2, let facts = values[0].bytes, let canonical = values[1].bytes
        else { return nil }
        guard let facts = PublishedProductMap.Facts(facts) else {
            throw unreadable(app, "the facts of version \(version) cannot be read")
        }
        do { return try PublishedProductMap(facts: facts, canonical: canonical) } catch {
            throw unreadable(app, "version \(version): \(error)", isNewer: true)
        }
    }

    /// All versions, the newest first, and how far each one's recomputation is.
    package func versions(
        of app: AppID
    ) async throws(StoreError) -> [(facts: PublishedProductMap.Facts, recomputation: Recomputation?)] {
        try await layout.verify()
        let names = (try await send("HKEYS", app).array ?? []).compactMap(\.string)
        let numbers = names.filter { $0.hasPrefix("m:") }.compactMap { UInt64($0.dropFirst(2)) }.sorted(by: >)
        guard !numbers.isEmpty else { return [] }
        let fields = numbers.flatMap { [RedisArgument("m:\($0)"), RedisArgument("r:\($0)")] }
        let values = try await send("HMGET", app, fields).array ?? []
        var versions: [(facts: PublishedProductMap.Facts, recomputation: Recomputation?)] = []
        for pair in stride(from: 0, to: values.count - 1, by: 2) {
            guard let bytes = values[pair].bytes, let facts = PublishedProductMap.Facts(bytes) else {
                throw unreadable(app, "the facts of version \(numbers[pair / 2]) cannot be read")
            }
            versions.append((facts, values[pair + 1].bytes.flatMap { Recomputation($0) }))
        }
        return versions
    }

    // MARK: Publishing

    /// Publishes `document` if the version that counts is `expected` (0: none yet). `first` is the settings' map, kept as
    /// version 0 so that what was in force before the first publication can be looked up.
    package func publish(
        _ document: ProductMapDocument, for app: AppID, expecting expected: UInt64, first: ProductMapDocument,
        by: String, comment: String, at instant: Timestamp
    ) async throws(StoreError) -> Publication {
        try await layout.verify()
        let next = PublishedProductMap(
            version: expected &+ 1, document: document, by: by, comment: comment, at: instant)
        var arguments: [RedisArgument] = [
            RedisArgument(expected), RedisArgument(next.version), .text(document.digest), .bytes(next.facts.bytes),
            .bytes(document.canonical), .bytes(Recomputation(version: next.version).bytes),
        ]
        if expected == 0 {
            let zero = PublishedProductMap(
                version: 0, document: first, by: "the settings", comment: "", at: instant)
            arguments += [.bytes(zero.facts.bytes), .bytes(first.canonical)]
        }
        let reply: RedisReply
        do {
            reply = try await redis.evaluate(
                ProductMapScripts.publish, keys: [StorageLayout.productMaps(of: app)], arguments: arguments)
        } catch { throw .redis(error) }
        guard let parts = reply.array, parts.count == 2, let done = parts[0].integer,
            let number = parts[1].string.flatMap({ UInt64($0) })
        else { throw .redis(RedisError(.unexpectedReply, "\(reply)")) }
        return done == 1 ? .published(version: number) : .conflict(current: number)
    }

    /// Puts back a published version that Redis has lost, so that numbers go on behind it; false when another counts by
    /// now.
    package func restore(_ map: PublishedProductMap, of app: AppID) async throws(StoreError) -> Bool {
        try await layout.verify()
        do throws(RedisError) {
            return try await redis.evaluate(
                ProductMapScripts.restore, keys: [StorageLayout.productMaps(of: app)],
                arguments: [
                    RedisArgument(map.version), .text(map.facts.digest), .bytes(map.facts.bytes),
                    .bytes(map.document.canonical),
                ]
            ).integer == 1
        } catch { throw .redis(error) }
    }

    // MARK: The settings' map

    /// That the settings' map became another one while it was the one that counts.
    struct SettingsChange: Sendable {
        let old: ProductMap
        let new: PublishedProductMap
        let recomputation: Recomputation
    }

    /// Notes which map the settings of a process have that has just started: the last one counts.
    func note(settings: ProductMapDocument, of app: AppID, at now: Timestamp) async throws(StoreError) {
        try await layout.verify()
        do throws(RedisError) {
            _ = try await redis.evaluate(
                ProductMapScripts.noteSettings, keys: [StorageLayout.productMaps(of: app)],
                arguments: [
                    .bytes(settings.canonical), .bytes(Recomputation(version: 0).bytes),
                    RedisArgument(now.milliseconds),
                ])
        } catch { throw .redis(error) }
    }

    /// Nil while they have had one map only, and once a map was published.
    func settingsChange(of app: AppID) async throws(StoreError) -> SettingsChange? {
        try await layout.verify()
        let values =
            try await send("HMGET", app, ["current", "s", "s:before", "s:at", "r:0"]).array ?? []
        guard values.count == 5, values[0].isNull, let new = values[1].bytes, let old = values[2].bytes,
            let at = values[3].string.flatMap({ Int64($0) }), let state = values[4].bytes.flatMap(Recomputation.init)
        else { return nil }
        do {
            return SettingsChange(
                old: ProductMap(version: "before", products: try ProductMapDocument(parsing: old).products),
                new: PublishedProductMap(
                    version: 0, document: try ProductMapDocument(parsing: new), by: "the settings", comment: "",
                    at: Timestamp(milliseconds: at)), recomputation: state)
        } catch { throw unreadable(app, "the settings' map: \(error)", isNewer: true) }
    }

    // MARK: Pieces

    func send(
        _ command: RedisArgument, _ app: AppID, _ rest: [RedisArgument] = []
    ) async throws(StoreError) -> RedisReply {
        let key = StorageLayout.productMaps(of: app)
        do { return try await redis.send([command, .text(key)] + rest) } catch {
            if error.isWrongType { throw .unreadable(key: key, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
    }

    private func unreadable(_ app: AppID, _ reason: String, isNewer: Bool = false) -> StoreError {
        .unreadable(key: StorageLayout.productMaps(of: app), reason: reason, isNewer: isNewer)
    }
}
