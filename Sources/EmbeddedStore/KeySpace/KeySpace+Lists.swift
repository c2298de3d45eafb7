internal import Redis
internal import SQLite

/// Elements lie at places that grow to the right, without gaps.
extension KeySpace {
    private func bounds(_ id: Int64) throws(KeySpaceFailure) -> (first: Int64, length: Int64) {
        let found = try row("SELECT min(place), max(place) FROM lists WHERE key = ?", [.integer(id)]) {
            (row) throws(SQLiteError) in
            row.isNull(0)
                ? (first: Int64(0), length: Int64(0)) : (row.integer(0), row.integer(1) &- row.integer(0) &+ 1)
        }
        return found ?? (0, 0)
    }

    func listPush(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        let id = try findOrMake(arguments[0], .list)
        var (first, length) = try bounds(id)
        if length == 0 { first = 0 }
        for value in arguments.dropFirst() {
            try run(
                "INSERT INTO lists (key, place, value) VALUES (?, ?, ?)",
                [.integer(id), .integer(first &+ length), .bytes(value)])
            length += 1
        }
        return .integer(length)
    }

    func listLength(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .list) else { return .integer(0) }
        return .integer(try bounds(key.id).length)
    }

    /// The places that Redis' start and stop mean, which count from the end when they are negative; nil when none.
    private func places(
        _ start: [UInt8], _ stop: [UInt8], _ bounds: (first: Int64, length: Int64)
    ) throws(KeySpaceFailure) -> ClosedRange<Int64>? {
        guard var start = Self.integer(start), var stop = Self.integer(stop) else { throw .command(.notAnInteger) }
        if start < 0 { start = max(0, start &+ bounds.length) }
        if stop < 0 { stop = stop &+ bounds.length }
        stop = min(stop, bounds.length - 1)
        guard start <= stop, stop >= 0 else { return nil }
        return bounds.first &+ start...bounds.first &+ stop
    }

    func listRange(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(arguments[0], .list) else {
            _ = try places(arguments[1], arguments[2], (0, 0))
            return .array([])
        }
        guard let places = try places(arguments[1], arguments[2], bounds(key.id)) else { return .array([]) }
        return .array(
            try rows(
                "SELECT value FROM lists WHERE key = ? AND place BETWEEN ? AND ? ORDER BY place",
                [.integer(key.id), .integer(places.lowerBound), .integer(places.upperBound)]
            ) { (row) throws(SQLiteError) in .bulk(row.bytes(0)) })
    }

    func listTrim(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(arguments[0], .list) else {
            _ = try places(arguments[1], arguments[2], (0, 0))
            return .status("OK")
        }
        if let places = try places(arguments[1], arguments[2], bounds(key.id)) {
            try run(
                "DELETE FROM lists WHERE key = ? AND (place < ? OR place > ?)",
                [.integer(key.id), .integer(places.lowerBound), .integer(places.upperBound)])
        } else {
            try run("DELETE FROM lists WHERE key = ?", [.integer(key.id)])
        }
        try removeIfEmpty(key.id, "lists")
        return .status("OK")
    }
}
