internal import Redis
internal import SQLite

/// Keys as such, and strings.
extension KeySpace {
    /// The key, unless it is not there or has expired.
    func find(_ name: [UInt8]) throws(KeySpaceFailure) -> Key? {
        let found = try row("SELECT id, type, expires, value FROM keys WHERE name = ?", [.bytes(name)]) {
            (row) throws(SQLiteError) in
            guard let kind = Kind(rawValue: row.integer(1)) else {
                throw SQLiteError(.corrupt, "a key of an unknown type")
            }
            return Key(
                id: row.integer(0), kind: kind, expires: row.isNull(2) ? nil : row.integer(2), value: row.bytes(3))
        }
        guard let found, found.expires.map({ $0 > now }) ?? true else { return nil }
        return found
    }

    func find(_ name: [UInt8], _ kind: Kind) throws(KeySpaceFailure) -> Key? {
        guard let key = try find(name) else { return nil }
        guard key.kind == kind else { throw .command(.wrongType) }
        return key
    }

    /// The id of the key, which is made when it is not there.
    func findOrMake(_ name: [UInt8], _ kind: Kind) throws(KeySpaceFailure) -> Int64 {
        if let key = try find(name, kind) { return key.id }
        return try make(name, kind, value: [], expires: nil)
    }

    private func make(
        _ name: [UInt8], _ kind: Kind, value: [UInt8], expires: Int64?
    ) throws(KeySpaceFailure) -> Int64 {
        // It may be there and have expired.
        _ = try removeWhatever(name)
        let place = ScanPlace(ofKey: name).number
        return try number(
            "INSERT INTO keys (name, place, type, expires, value) VALUES (?, ?, ?, ?, ?) RETURNING id",
            [
                .bytes(name), .integer(place), .integer(kind.rawValue), expires.map { .integer($0) } ?? .null,
                .bytes(value),
            ])
    }

    func remove(_ name: [UInt8]) throws(KeySpaceFailure) -> Bool {
        let wasThere = try find(name) != nil
        return try removeWhatever(name) && wasThere
    }

    private func removeWhatever(_ name: [UInt8]) throws(KeySpaceFailure) -> Bool {
        let found = try row("SELECT id, type FROM keys WHERE name = ?", [.bytes(name)]) {
            (row) throws(SQLiteError) in (row.integer(0), Kind(rawValue: row.integer(1)))
        }
        guard let (id, kind) = found else { return false }
        try remove(id, kind)
        return true
    }

    private func remove(_ id: Int64, _ kind: Kind?) throws(KeySpaceFailure) {
        switch kind {
        case .hash: try run("DELETE FROM hashes WHERE key = ?", [.integer(id)])
        case .list: try run("DELETE FROM lists WHERE key = ?", [.integer(id)])
        case .sortedSet: try run("DELETE FROM scores WHERE key = ?", [.integer(id)])
        case .stream:
            try run("DELETE FROM entries WHERE key = ?", [.integer(id)])
            try run("DELETE FROM streams WHERE key = ?", [.integer(id)])
        case .string, nil: break
        }
        try run("DELETE FROM keys WHERE id = ?", [.integer(id)])
    }

    /// A hash, list or sorted set without elements is none.
    func removeIfEmpty(_ id: Int64, _ table: String) throws(KeySpaceFailure) {
        guard try number("SELECT EXISTS (SELECT 1 FROM \(table) WHERE key = ?)", [.integer(id)]) == 0 else { return }
        try run("DELETE FROM keys WHERE id = ?", [.integer(id)])
    }

    /// Lets go of some of the keys that have expired. Nobody sees them anyway.
    func removeExpired(atMost limit: Int64) throws(KeySpaceFailure) {
        let expired = try rows(
            "SELECT id, type FROM keys WHERE expires <= ? ORDER BY expires LIMIT ?", [.integer(now), .integer(limit)]
        ) { (row) throws(SQLiteError) in (row.integer(0), Kind(rawValue: row.integer(1))) }
        for (id, kind) in expired { try remove(id, kind) }
    }

    func flush() throws(KeySpaceFailure) -> RedisReply {
        for table in ["hashes", "lists", "scores", "entries", "streams", "keys"] { try run("DELETE FROM \(table)") }
        return .status("OK")
    }

    func expire(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let milliseconds = Self.integer(arguments[1]) else { throw .command(.notAnInteger) }
        guard arguments.count == 2 else { throw .command(.syntax) }
        guard let key = try find(arguments[0]) else { return .integer(0) }
        let (expires, isTooFar) = now.addingReportingOverflow(milliseconds)
        guard !isTooFar else { throw .command(.expireTime("pexpire")) }
        if milliseconds <= 0 {
            try remove(key.id, key.kind)
        } else {
            try run("UPDATE keys SET expires = ? WHERE id = ?", [.integer(expires), .integer(key.id)])
        }
        return .integer(1)
    }

    func timeToLive(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name) else { return .integer(-2) }
        return .integer(key.expires.map { max(0, $0 &- now) } ?? -1)
    }

    // MARK: Strings

    func get(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        try find(name, .string).map { .bulk($0.value) } ?? .null
    }

    func set(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        var (onlyNew, onlyOld, givesOld) = (false, false, false)
        var expires: Int64?
        var options = arguments.dropFirst(2)
        while let option = options.popFirst() {
            switch Self.word(option) {
            case "NX": onlyNew = true
            case "XX": onlyOld = true
            case "GET": givesOld = true
            case "PX", "EX":
                guard let value = options.popFirst(), expires == nil else { throw .command(.syntax) }
                guard let count = Self.integer(value) else { throw .command(.notAnInteger) }
                let (milliseconds, overflows) = count.multipliedReportingOverflow(
                    by: Self.word(option) == "EX" ? 1000 : 1)
                let (instant, isTooFar) = now.addingReportingOverflow(milliseconds)
                guard count > 0, !overflows, !isTooFar else { throw .command(.expireTime("set")) }
                expires = instant
            default: throw .command(.syntax)
            }
        }
        if onlyNew && onlyOld { throw .command(.syntax) }
        let old = try find(arguments[0])
        if givesOld, let old, old.kind != .string { throw .command(.wrongType) }
        let oldValue: RedisReply = old.map { .bulk($0.value) } ?? .null
        guard onlyNew ? old == nil : !onlyOld || old != nil else { return givesOld ? oldValue : .null }
        if let old, old.kind == .string {
            try run(
                "UPDATE keys SET value = ?, expires = ? WHERE id = ?",
                [.bytes(arguments[1]), expires.map { .integer($0) } ?? .null, .integer(old.id)])
        } else {
            _ = try make(arguments[0], .string, value: arguments[1], expires: expires)
        }
        return givesOld ? oldValue : .status("OK")
    }
}
