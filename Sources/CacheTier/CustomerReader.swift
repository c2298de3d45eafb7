internal import Entitlements
internal import Redis

/// What the store has of one customer.
struct StoredCustomer: Sendable {
    /// 0 for a customer nobody knows.
    var revision: UInt64 = 0
    var records: [LineageRecord] = []
    /// The records' size as stored.
    var bytes = 0
    /// Whether there is nothing at all, not even a revision.
    var isEmpty = true
}

/// Reads a customer with one command.
struct CustomerReader: Sendable {
    let redis: any RedisCommands

    func read(_ key: CustomerKey) async throws(StoreError) -> StoredCustomer {
        try await read(key: StorageLayout.key(key.path), app: key.app, environment: key.environment)
    }

    /// Reads the holder whose hash is at the key `stored`.
    func read(
        key stored: String, app: AppID, environment: StoreEnvironment
    ) async throws(StoreError) -> StoredCustomer {
        let reply: RedisReply
        do { reply = try await redis.send(["HGETALL", .text(stored)]) } catch {
            if error.isWrongType { throw .unreadable(key: stored, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
        guard let fields = reply.array else { throw .redis(RedisError(.unexpectedReply, "HGETALL \(stored)")) }
        var customer = StoredCustomer(isEmpty: fields.isEmpty)
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let field = fields[pair].string, let value = fields[pair + 1].bytes else { continue }
            if field == "rev" { customer.revision = UInt64(String(decoding: value, as: UTF8.self)) ?? 0 }
            guard let lineage = StorageLayout.lineageID(field: field, app: app, environment: environment)
            else { continue }
            customer.records.append(
                try StoredLineage.decode(value, lineage: lineage, key: "\(stored) \(field)").record)
            customer.bytes += value.count
        }
        return customer
    }
}
