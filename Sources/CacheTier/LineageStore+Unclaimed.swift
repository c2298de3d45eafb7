package import Entitlements
internal import Redis
package import Time

/// A lineage that nobody has: no signed transaction names a customer, and no customer claimed it.
package struct UnclaimedLineage: Sendable, Hashable {
    package let record: LineageRecord
    /// When it was seen first; for one that is older than the index, its earliest signed date.
    package let firstSeen: Timestamp

    package var lineage: LineageID { record.lineage }
}

/// Some unclaimed lineages, those seen first first.
package struct UnclaimedPage: Sendable, Hashable {
    package var lineages: [UnclaimedLineage] = []
    /// Where the next page begins; nil after the last.
    package var next: String?
}

extension LineageStore {
    /// Unclaimed lineages of an app in the order in which they were seen, `limit` at most.
    ///
    /// - Parameter cursor: `next` of the page before; nil for the first. One that is no cursor begins anew.
    package func unclaimed(
        _ app: AppID, _ environment: StoreEnvironment, after cursor: String? = nil, limit: Int
    ) async throws(StoreError) -> UnclaimedPage {
        try await verifyLayout()
        let place = cursor.flatMap(UnclaimedPlace.init)
        let limit = min(max(limit, 1), 1000)
        let parts = try await link.each(Array(0..<StorageLayout.partitions)) {
            (link, partition) async throws(StoreError) in
            let index = StorageLayout.unclaimedIndex(app, environment, partition: partition)
            return try await Self.places(in: index, after: place, limit: limit, link)
        }
        let places = parts.flatMap(\.self).sorted()
        let now = places.prefix(limit)
        let found = try await link.each(Array(now)) { (link, place) async throws(StoreError) in
            try await Self.lineage(at: place, app, environment, link)
        }
        return UnclaimedPage(
            lineages: found.compactMap(\.self), next: places.count >= limit ? now.last?.description : nil)
    }

    /// How many lineages of an app nobody has.
    package func unclaimedCount(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) -> Int {
        try await verifyLayout()
        let counts = try await link.each(Array(0..<StorageLayout.partitions)) {
            (link, partition) async throws(StoreError) in
            let index = StorageLayout.unclaimedIndex(app, environment, partition: partition)
            return Int(clamping: try await link.send("ZCARD", index).integer ?? 0)
        }
        return counts.reduce(0, +)
    }

    /// Enters every unclaimed lineage into the index, while the line runs. Needed when an earlier version wrote to this
    /// store: it knows no index. `prepare` does it once; after a version has been taken back and put in again, an
    /// operator does.
    package func rebuildUnclaimedIndex() async throws(StoreError) {
        try await verifyLayout()
        var scan = KeyScan(redis: link.redis, matching: "hf:*:holder:unclaimed:*", count: 1000)
        while let keys = try await Self.next(&scan) {
            _ = try await link.each(keys) { (link, key) async throws(StoreError) in try await Self.index(key, link) }
        }
        _ = try await link.send("SET", StorageLayout.indexedKey, ["1"])
    }

    // MARK: Pieces

    private static func next(_ scan: inout KeyScan) async throws(StoreError) -> [String]? {
        do { return try await scan.next() } catch { throw .redis(error) }
    }

    private static func places(
        in index: String, after place: UnclaimedPlace?, limit: Int, _ link: StoreLink
    ) async throws(StoreError) -> [UnclaimedPlace] {
        var places: [UnclaimedPlace] = []
        var offset = 0
        let from = place.map { "\($0.firstSeen.milliseconds)" } ?? "-inf"
        while true {
            // Those that were seen at the same instant as the last one of the page before come again.
            let reply = try await link.send(
                "ZRANGEBYSCORE", index,
                [.text(from), "+inf", "WITHSCORES", "LIMIT", RedisArgument(offset), RedisArgument(limit)])
            let values = reply.array ?? []
            for pair in stride(from: 0, to: values.count - 1, by: 2) {
                guard let member = values[pair].string, let score = values[pair + 1].string.flatMap(Double.init),
                    let milliseconds = Int64(exactly: score.rounded())
                else { continue }
                let found = UnclaimedPlace(firstSeen: Timestamp(milliseconds: milliseconds), member: member)
                if place.map({ $0 < found }) ?? true { places.append(found) }
            }
            if places.count >= limit || values.count < 2 * limit { return places }
            offset += limit
        }
    }

    /// Nil when the index is behind the holder's hash; then it is put right.
    private static func lineage(
        at place: UnclaimedPlace, _ app: AppID, _ environment: StoreEnvironment, _ link: StoreLink
    ) async throws(StoreError) -> UnclaimedLineage? {
        guard let id = StorageLayout.unescaped(place.member) else { return nil }
        let keys = StoredLineageKeys(LineageID(app: app, environment: environment, originalTransactionID: id))
        let holder = Holder.unclaimed(id)
        if let record = try await LineageReader(link: link, keys: keys).copy(of: holder).record {
            return UnclaimedLineage(record: record, firstSeen: place.firstSeen)
        }
        try await index(StorageLayout.key(keys.path(holder)), keys, place.firstSeen, link)
        return nil
    }

    private static func index(_ key: String, _ link: StoreLink) async throws(StoreError) {
        // `hf:{pNN}:<app>:<p or s>:holder:unclaimed:<otid>`
        let parts = key.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 7, let app = StorageLayout.unescaped(parts[2]), let id = StorageLayout.unescaped(parts[6]),
            let environment: StoreEnvironment = parts[3] == "p" ? .production : parts[3] == "s" ? .sandbox : nil
        else { return }
        let keys = StoredLineageKeys(
            LineageID(app: AppID(app), environment: environment, originalTransactionID: id))
        let record: LineageRecord?
        do throws(StoreError) {
            record = try await LineageReader(link: link, keys: keys).copy(of: .unclaimed(id)).record
        } catch {
            // What cannot be read is still nobody's.
            guard case .unreadable = error else { throw error }
            record = nil
        }
        try await index(key, keys, record?.earliestDate ?? Timestamp(milliseconds: 0), link)
    }

    private static func index(
        _ key: String, _ keys: StoredLineageKeys, _ firstSeen: Timestamp, _ link: StoreLink
    ) async throws(StoreError) {
        let holder = Holder.unclaimed(keys.id.originalTransactionID)
        let partition = StorageLayout.partition(of: keys.path(holder))
        _ = try await link.evaluate(
            StoreScripts.index,
            keys: [key, StorageLayout.unclaimedIndex(keys.id.app, keys.id.environment, partition: partition)],
            arguments: [
                .text(keys.field), .text(StorageLayout.escaped(keys.id.originalTransactionID)),
                RedisArgument(firstSeen.milliseconds),
            ])
    }
}

/// A place in the order of unclaimed lineages: when it was seen first, then its id.
struct UnclaimedPlace: Comparable, Sendable, CustomStringConvertible {
    let firstSeen: Timestamp
    /// The original transaction id, escaped.
    let member: String

    init(firstSeen: Timestamp, member: String) {
        self.firstSeen = firstSeen
        self.member = member
    }

    init?(_ text: String) {
        let parts = text.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
        self.init(firstSeen: Timestamp(milliseconds: milliseconds), member: String(parts[1]))
    }

    /// Fit for a URL as it is.
    var description: String { "\(firstSeen.milliseconds)_\(member)" }

    static func == (a: Self, b: Self) -> Bool {
        a.firstSeen == b.firstSeen && a.member.utf8.elementsEqual(b.member.utf8)
    }

    static func < (a: Self, b: Self) -> Bool {
        if a.firstSeen != b.firstSeen { return a.firstSeen < b.firstSeen }
        return a.member.utf8.lexicographicallyPrecedes(b.member.utf8)
    }
}
