internal import Redis
internal import SQLite

extension KeySpace {
    func hashGet(_ name: [UInt8], _ field: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .hash) else { return .null }
        return try value(of: field, in: key.id).map { .bulk($0) } ?? .null
    }

    func hashGet(_ name: [UInt8], _ fields: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        let key = try find(name, .hash)
        var values: [RedisReply] = []
        for field in fields {
            let value = try key.map { (key) throws(KeySpaceFailure) in try self.value(of: field, in: key.id) } ?? nil
            values.append(value.map { .bulk($0) } ?? .null)
        }
        return .array(values)
    }

    private func value(of field: [UInt8], in id: Int64) throws(KeySpaceFailure) -> [UInt8]? {
        try row("SELECT value FROM hashes WHERE key = ? AND field = ?", [.integer(id), .bytes(field)]) {
            (row) throws(SQLiteError) in row.bytes(0)
        }
    }

    func hashAll(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .hash) else { return .array([]) }
        let pairs = try rows("SELECT field, value FROM hashes WHERE key = ?", [.integer(key.id)]) {
            (row) throws(SQLiteError) in [RedisReply.bulk(row.bytes(0)), .bulk(row.bytes(1))]
        }
        return .array(pairs.flatMap(\.self))
    }

    func hashKeys(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .hash) else { return .array([]) }
        return .array(
            try rows("SELECT field FROM hashes WHERE key = ?", [.integer(key.id)]) { (row) throws(SQLiteError) in
                .bulk(row.bytes(0))
            })
    }

    func hashLength(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .hash) else { return .integer(0) }
        return .integer(try number("SELECT count(*) FROM hashes WHERE key = ?", [.integer(key.id)]))
    }

    func hashSet(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        let id = try findOrMake(arguments[0], .hash)
        var added: Int64 = 0
        for place in stride(from: 1, to: arguments.count - 1, by: 2) {
            if try write(arguments[place + 1], to: arguments[place], in: id) { added += 1 }
        }
        return .integer(added)
    }

    func hashSetIfAbsent(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        if let key = try find(arguments[0], .hash), try value(of: arguments[1], in: key.id) != nil {
            return .integer(0)
        }
        return try hashSet(arguments)
    }

    /// Returns whether the field is new.
    private func write(_ value: [UInt8], to field: [UInt8], in id: Int64) throws(KeySpaceFailure) -> Bool {
        let values: [SQLiteStatement.Value] = [.bytes(value), .integer(id), .bytes(field)]
        guard try run("UPDATE hashes SET value = ? WHERE key = ? AND field = ?", values) == 0 else { return false }
        try run("INSERT INTO hashes (value, key, field) VALUES (?, ?, ?)", values)
        return true
    }

    func hashRemove(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(arguments[0], .hash) else { return .integer(0) }
        var removed: Int64 = 0
        for field in arguments.dropFirst() {
            removed += Int64(
                try run("DELETE FROM hashes WHERE key = ? AND field = ?", [.integer(key.id), .bytes(field)]))
        }
        if removed > 0 { try removeIfEmpty(key.id, "hashes") }
        return .integer(removed)
    }

    func hashIncrement(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let step = Self.integer(arguments[2]) else { throw .command(.notAnInteger) }
        let id = try findOrMake(arguments[0], .hash)
        let old = try value(of: arguments[1], in: id) ?? [UInt8(ascii: "0")]
        guard let old = Self.integer(old) else { throw .command(.hashValueNotAnInteger) }
        let (sum, overflows) = old.addingReportingOverflow(step)
        guard !overflows else { throw .command(.overflow) }
        _ = try write(Array("\(sum)".utf8), to: arguments[1], in: id)
        return .integer(sum)
    }
}
