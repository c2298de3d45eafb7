internal import Redis
internal import SQLite

extension KeySpace {
    struct Stream {
        let key: Int64
        var last: StreamID
        var added: Int64
        var length: Int64
    }

    private func stream(_ name: [UInt8]) throws(KeySpaceFailure) -> Stream? {
        guard let key = try find(name, .stream) else { return nil }
        let found = try row("SELECT ms, sequence, added, length FROM streams WHERE key = ?", [.integer(key.id)]) {
            (row) throws(SQLiteError) in
            Stream(
                key: key.id,
                last: StreamID(storedMilliseconds: row.integer(0), storedSequence: row.integer(1)),
                added: row.integer(2), length: row.integer(3))
        }
        guard let found else {
            throw .file(StoreFileFailure(SQLiteError(.corrupt, "a stream without what is known of it")))
        }
        return found
    }

    // MARK: Writing

    func streamAdd(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        var rest = arguments.dropFirst()
        var bound: Bound?
        if let word = rest.first, Self.word(word) == "MAXLEN" {
            rest.removeFirst()
            bound = try Bound(&rest)
        }
        guard let wanted = rest.popFirst() else { throw .command(.syntax) }
        guard !rest.isEmpty, rest.count % 2 == 0 else { throw .command(.arity("xadd")) }
        var explicit: StreamID?
        if wanted != [UInt8(ascii: "*")] {
            guard let id = StreamID(wanted) else { throw .command(.invalidStreamID) }
            explicit = id
        }
        let found = try self.stream(arguments[0])
        let last = found?.last ?? .beginning
        let id = explicit ?? max(StreamID(milliseconds: UInt64(clamping: now)), last.next ?? .end)
        guard id > last else { throw .command(.streamIDTooSmall) }
        var stream: Stream
        if let found {
            stream = found
        } else {
            stream = Stream(key: try findOrMake(arguments[0], .stream), last: .beginning, added: 0, length: 0)
            try run(
                "INSERT INTO streams (key, ms, sequence, added, length) VALUES (?, 0, 0, 0, 0)", [.integer(stream.key)])
        }
        try run(
            "INSERT INTO entries (key, ms, sequence, fields) VALUES (?, ?, ?, ?)",
            [
                .integer(stream.key), .integer(id.storedMilliseconds), .integer(id.storedSequence),
                .bytes(Self.encode(Array(rest))),
            ])
        stream.last = id
        stream.added &+= 1
        stream.length &+= 1
        if let bound { _ = try trim(&stream, bound) }
        try save(stream)
        noteStreamWrite()
        return .bulk(id.bytes)
    }

    func streamTrim(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        var rest = arguments.dropFirst()
        guard let word = rest.popFirst() else { throw .command(.syntax) }
        if Self.word(word) == "MINID" { return try streamTrim(arguments[0], olderThan: &rest) }
        guard Self.word(word) == "MAXLEN" else { throw .command(.syntax) }
        let bound = try Bound(&rest)
        guard rest.isEmpty else { throw .command(.syntax) }
        guard var stream = try stream(arguments[0]) else { return .integer(0) }
        let removed = try trim(&stream, bound)
        try save(stream)
        return .integer(removed)
    }

    private func streamTrim(
        _ name: [UInt8], olderThan rest: inout ArraySlice<[UInt8]>
    ) throws(KeySpaceFailure) -> RedisReply {
        guard let word = rest.popFirst(), let least = StreamID(word), rest.isEmpty else {
            throw .command(.invalidStreamID)
        }
        guard var stream = try stream(name) else { return .integer(0) }
        let removed = try run(
            "DELETE FROM entries WHERE key = ? AND (ms, sequence) < (?, ?)",
            [.integer(stream.key), .integer(least.storedMilliseconds), .integer(least.storedSequence)])
        stream.length &-= Int64(removed)
        try save(stream)
        return .integer(Int64(removed))
    }

    private func save(_ stream: Stream) throws(KeySpaceFailure) {
        try run(
            "UPDATE streams SET ms = ?, sequence = ?, added = ?, length = ? WHERE key = ?",
            [
                .integer(stream.last.storedMilliseconds), .integer(stream.last.storedSequence), .integer(stream.added),
                .integer(stream.length), .integer(stream.key),
            ])
    }

    /// How many entries a stream may have.
    private struct Bound {
        let length: Int64
        /// About so many: the oldest go a hundred at a time, as in Redis.
        let isApproximate: Bool

        init(_ rest: inout ArraySlice<[UInt8]>) throws(KeySpaceFailure) {
            var isApproximate = false
            if let sign = rest.first, sign == [UInt8(ascii: "~")] || sign == [UInt8(ascii: "=")] {
                isApproximate = sign == [UInt8(ascii: "~")]
                rest.removeFirst()
            }
            guard let word = rest.popFirst(), let length = KeySpace.integer(word), length >= 0 else {
                throw .command(.notAnInteger)
            }
            self.length = length
            self.isApproximate = isApproximate
        }
    }

    private func trim(_ stream: inout Stream, _ bound: Bound) throws(KeySpaceFailure) -> Int64 {
        let excess = stream.length &- bound.length
        guard excess > 0, !bound.isApproximate || excess >= 100 else { return 0 }
        let removed = try run(
            """
            DELETE FROM entries WHERE key = ?1 AND (ms, sequence) IN
            (SELECT ms, sequence FROM entries WHERE key = ?1 ORDER BY ms, sequence LIMIT ?2)
            """, [.integer(stream.key), .integer(excess)])
        stream.length &-= Int64(removed)
        return Int64(removed)
    }

    // MARK: Reading

    func streamLength(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply { .integer(try stream(name)?.length ?? 0) }

    func streamRange(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let first = Self.edge(arguments[1], missing: 0), let last = Self.edge(arguments[2], missing: .max) else {
            throw .command(.invalidStreamID)
        }
        var limit: Int64 = -1
        if arguments.count > 3 {
            guard arguments.count == 5, Self.word(arguments[3]) == "COUNT" else { throw .command(.syntax) }
            guard let count = Self.integer(arguments[4]) else { throw .command(.notAnInteger) }
            limit = max(0, count)
        }
        guard let stream = try stream(arguments[0]) else { return .array([]) }
        return .array(try entries(of: stream.key, from: first, through: last, limit: limit))
    }

    private static func edge(_ bytes: [UInt8], missing: UInt64) -> StreamID? {
        switch bytes {
        case [UInt8(ascii: "-")]: .beginning
        case [UInt8(ascii: "+")]: .end
        default: StreamID(bytes, missing: missing)
        }
    }

    private func entries(
        of key: Int64, from first: StreamID, through last: StreamID, limit: Int64
    ) throws(KeySpaceFailure) -> [RedisReply] {
        try rows(
            """
            SELECT ms, sequence, fields FROM entries WHERE key = ? AND (ms, sequence) >= (?, ?)
            AND (ms, sequence) <= (?, ?) ORDER BY ms, sequence LIMIT ?
            """,
            [
                .integer(key), .integer(first.storedMilliseconds), .integer(first.storedSequence),
                .integer(last.storedMilliseconds), .integer(last.storedSequence), .integer(limit),
            ]
        ) { (row) throws(SQLiteError) in
            let id = StreamID(storedMilliseconds: row.integer(0), storedSequence: row.integer(1))
            return .array([.bulk(id.bytes), .array(Self.decode(row.bytes(2)).map { .bulk($0) })])
        }
    }

    func streamRead(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        let request = try StreamRequest(arguments)
        var streams: [RedisReply] = []
        for (name, after) in zip(request.names, request.positions) {
            // `$` is the end that the stream has now, behind which there is nothing yet.
            guard let after, let first = after.next, let stream = try stream(name), stream.last > after else {
                continue
            }
            let entries = try entries(of: stream.key, from: first, through: .end, limit: request.count)
            if !entries.isEmpty { streams.append(.array([.bulk(name), .array(entries)])) }
        }
        return streams.isEmpty ? .null : .array(streams)
    }

    /// The ends of streams where `$` is asked for, so that a request which waits keeps its place.
    func resolved(_ request: StreamRequest) throws(KeySpaceFailure) -> StreamRequest {
        var request = request
        for (index, position) in request.positions.enumerated() where position == nil {
            request.positions[index] = try stream(request.names[index])?.last ?? .beginning
        }
        return request
    }

    func streamInfo(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard arguments.count == 2, Self.word(arguments[0]) == "STREAM" else { throw .command(.syntax) }
        guard let stream = try stream(arguments[1]) else { throw .command(.noSuchKey) }
        func end(_ order: String) throws(KeySpaceFailure) -> RedisReply {
            try row(
                "SELECT ms, sequence, fields FROM entries WHERE key = ? ORDER BY ms \(order), sequence \(order) LIMIT 1",
                [.integer(stream.key)]
            ) { (row) throws(SQLiteError) in
                let id = StreamID(storedMilliseconds: row.integer(0), storedSequence: row.integer(1))
                return .array([.bulk(id.bytes), .array(Self.decode(row.bytes(2)).map { .bulk($0) })])
            } ?? .null
        }
        func name(_ text: String) -> RedisReply { .bulk(Array(text.utf8)) }
        return .array([
            name("length"), .integer(stream.length), name("last-generated-id"), .bulk(stream.last.bytes),
            name("entries-added"), .integer(stream.added), name("groups"), .integer(0),
            name("first-entry"), try end("ASC"), name("last-entry"), try end("DESC"),
        ])
    }

    // MARK: Fields: of each, its length in four bytes and itself

    private static func encode(_ fields: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            let count = UInt32(clamping: field.count)
            bytes += [UInt8(count >> 24), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
            bytes += field
        }
        return bytes
    }

    private static func decode(_ bytes: [UInt8]) -> [[UInt8]] {
        var fields: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= 4 {
            let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            fields.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return fields
    }
}
