internal import Redis
internal import SQLite

extension KeySpace {
    /// Every key that is there from beginning to end comes exactly once, also when the process was begun anew meanwhile.
    func scan(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let place = ScanPlace(cursor: arguments[0]) else { throw .command(.invalidCursor) }
        var pattern: GlobPattern?
        var type: String?
        var count: Int64 = 10
        var options = arguments.dropFirst()
        while let option = options.popFirst() {
            guard let value = options.popFirst() else { throw .command(.syntax) }
            switch Self.word(option) {
            case "MATCH": pattern = GlobPattern(value)
            case "TYPE": type = Self.word(value).lowercased()
            case "COUNT":
                guard let number = Self.integer(value) else { throw .command(.notAnInteger) }
                guard number > 0 else { throw .command(.syntax) }
                count = min(number, 100_000)
            default: throw .command(.syntax)
            }
        }
        var found = try named(after: place, limit: count)
        // Two names may share a place; then both belong to this step.
        if let last = found.last, Int64(found.count) == count {
            let others = try named(at: last.place)
            let known = Set(found.map(\.name))
            found += others.filter { !known.contains($0.name) }
        }
        let isLast = Int64(found.count) < count
        let cursor = isLast ? "0" : found.last.map(\.place.cursor) ?? "0"
        let now = now
        let names = found.filter { key in
            (key.expires.map { $0 > now } ?? true) && (type.map { $0 == key.kind?.name } ?? true)
                && (pattern.map { $0.matches(key.name) } ?? true)
        }
        return .array([.bulk(Array(cursor.utf8)), .array(names.map { .bulk($0.name) })])
    }

    func keys(matching bytes: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        let pattern = GlobPattern(bytes)
        let now = now
        return .array(
            try named(after: .beginning, limit: -1).filter { key in
                (key.expires.map { $0 > now } ?? true) && pattern.matches(key.name)
            }.map { .bulk($0.name) })
    }

    private struct Named {
        let name: [UInt8]
        let place: ScanPlace
        let kind: Kind?
        let expires: Int64?

        init(_ row: SQLiteStatement) {
            name = row.bytes(0)
            place = ScanPlace(stored: row.integer(1))
            kind = Kind(rawValue: row.integer(2))
            expires = row.isNull(3) ? nil : row.integer(3)
        }
    }

    private func named(after place: ScanPlace, limit: Int64) throws(KeySpaceFailure) -> [Named] {
        try rows(
            "SELECT name, place, type, expires FROM keys WHERE place > ? ORDER BY place LIMIT ?",
            [.integer(place.number), .integer(limit)]
        ) { (row) throws(SQLiteError) in Named(row) }
    }

    private func named(at place: ScanPlace) throws(KeySpaceFailure) -> [Named] {
        try rows("SELECT name, place, type, expires FROM keys WHERE place = ?", [.integer(place.number)]) {
            (row) throws(SQLiteError) in Named(row)
        }
    }

    /// The order of SCAN never changes, so what Redis calls the run is the file.
    func info() throws(KeySpaceFailure) -> RedisReply {
        let identity = try row("SELECT value FROM facts WHERE name = 'identity'", []) {
            (row) throws(SQLiteError) in row.text(0)
        }
        let keys = try number("SELECT count(*) FROM keys")
        let pages = try number("PRAGMA page_count")
        let free = try number("PRAGMA freelist_count")
        let pageSize = try number("PRAGMA page_size")
        return .bulk(
            Array(
                """
                # Server\r
                redis_version:7.0.0-holdfast-embedded\r
                run_id:\(identity ?? "")\r
                # Persistence\r
                loading:0\r
                file_bytes:\(pages &* pageSize)\r
                used_bytes:\((pages &- free) &* pageSize)\r
                # Keyspace\r
                db0:keys=\(keys),expires=0,avg_ttl=0\r

                """.utf8))
    }
}
