internal import Redis

/// Reads holders as the snapshot keeps them.
struct HolderRows: Sendable {
    private let redis: any RedisLink

    init(_ redis: any RedisLink) { self.redis = redis }

    /// What the store has of these holders; nil for those it has never heard of.
    func read(_ paths: [String], of store: String) async throws(SnapshotFollower.Failure) -> [SnapshotRow?] {
        guard !paths.isEmpty else { return [] }
        let connection = redis.connections
        let rows = try await stored { () async throws(StoreError) in
            try await StoreLink(redis: redis).each(paths) { (link, path) async throws(StoreError) in
                try await Self.row(path, link)
            }
        }
        // Behind the rows, over the same connection: nothing of them was another store's.
        let found = try await stored { () async throws(StoreError) in try await LayoutGuard(redis: redis).identity() }
        guard found == store, connection == redis.connections else { throw .otherStore }
        return rows
    }

    private static func row(_ path: String, _ link: StoreLink) async throws(StoreError) -> SnapshotRow? {
        let values: [RedisReply]
        do throws(StoreError) {
            values = try await link.send("HGETALL", StorageLayout.key(path)).array ?? []
        } catch {
            // Somebody else's key under our name is nothing of ours.
            guard case .unreadable = error else { throw error }
            return nil
        }
        var row = SnapshotRow(path: path, revision: 0, fields: [])
        for pair in stride(from: 0, to: values.count - 1, by: 2) {
            guard let name = values[pair].string, let value = values[pair + 1].bytes else { continue }
            if name == "rev" { row.revision = UInt64(String(decoding: value, as: UTF8.self)) ?? 0 }
            if name.hasPrefix("l:") { row.fields.append(SnapshotRow.Field(name: name, value: value)) }
        }
        return values.isEmpty ? nil : row
    }

    private func stored<Value>(_ body: () async throws(StoreError) -> Value) async throws(SnapshotFollower.Failure)
        -> Value
    {
        do { return try await body() } catch { throw .store(error) }
    }
}
