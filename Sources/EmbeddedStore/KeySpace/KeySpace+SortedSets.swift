internal import Redis
internal import SQLite

extension KeySpace {
    func scoreAdd(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        var rest = arguments.dropFirst()
        var (onlyNew, onlyOld, onlyLess) = (false, false, false)
        options: while let option = rest.first {
            switch Self.word(option) {
            case "NX": onlyNew = true
            case "XX": onlyOld = true
            case "LT": onlyLess = true
            default: break options
            }
            rest.removeFirst()
        }
        guard !rest.isEmpty, rest.count % 2 == 0, !(onlyNew && (onlyOld || onlyLess)) else { throw .command(.syntax) }
        var pairs: [(score: Double, member: [UInt8])] = []
        while let score = rest.popFirst(), let member = rest.popFirst() {
            guard let score = Self.double(score) else { throw .command(.notAFloat) }
            pairs.append((score, member))
        }
        if onlyOld, try find(arguments[0], .sortedSet) == nil { return .integer(0) }
        let id = try findOrMake(arguments[0], .sortedSet)
        var added: Int64 = 0
        for (score, member) in pairs {
            let values: [SQLiteStatement.Value] = [.real(score), .integer(id), .bytes(member)]
            let isThere =
                try number("SELECT EXISTS (SELECT 1 FROM scores WHERE key = ? AND member = ?)", Array(values[1...]))
                == 1
            if isThere {
                let bound = onlyLess ? " AND score > ?1" : ""
                if !onlyNew {
                    try run("UPDATE scores SET score = ?1 WHERE key = ?2 AND member = ?3\(bound)", values)
                }
            } else if !onlyOld {
                try run("INSERT INTO scores (score, key, member) VALUES (?, ?, ?)", values)
                added += 1
            }
        }
        return .integer(added)
    }

    func scoreRemove(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(arguments[0], .sortedSet) else { return .integer(0) }
        var removed: Int64 = 0
        for member in arguments.dropFirst() {
            removed += Int64(
                try run("DELETE FROM scores WHERE key = ? AND member = ?", [.integer(key.id), .bytes(member)]))
        }
        if removed > 0 { try removeIfEmpty(key.id, "scores") }
        return .integer(removed)
    }

    func scoreRemoveByScore(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let (low, excludesLow) = Self.bound(arguments[1]), let (high, excludesHigh) = Self.bound(arguments[2])
        else { throw .command(.noFloatRange) }
        guard let key = try find(arguments[0], .sortedSet) else { return .integer(0) }
        let removed = try run(
            """
            DELETE FROM scores WHERE key = ? AND score \(excludesLow ? ">" : ">=") ?
            AND score \(excludesHigh ? "<" : "<=") ?
            """, [.integer(key.id), .real(low), .real(high)])
        if removed > 0 { try removeIfEmpty(key.id, "scores") }
        return .integer(Int64(removed))
    }

    func scoreRemoveByRank(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard var start = Self.integer(arguments[1]), var stop = Self.integer(arguments[2]) else {
            throw .command(.notAnInteger)
        }
        guard let key = try find(arguments[0], .sortedSet) else { return .integer(0) }
        let count = try number("SELECT count(*) FROM scores WHERE key = ?", [.integer(key.id)])
        if start < 0 { start = max(0, start &+ count) }
        if stop < 0 { stop = stop &+ count }
        stop = min(stop, count - 1)
        guard start <= stop else { return .integer(0) }
        let removed = try run(
            """
            DELETE FROM scores WHERE key = ?1 AND member IN
            (SELECT member FROM scores WHERE key = ?1 ORDER BY score, member LIMIT ?2 OFFSET ?3)
            """, [.integer(key.id), .integer(stop - start + 1), .integer(start)])
        if removed > 0 { try removeIfEmpty(key.id, "scores") }
        return .integer(Int64(removed))
    }

    func scoreCount(_ name: [UInt8]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(name, .sortedSet) else { return .integer(0) }
        return .integer(try number("SELECT count(*) FROM scores WHERE key = ?", [.integer(key.id)]))
    }

    func scoreCount(between arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let (low, excludesLow) = Self.bound(arguments[1]), let (high, excludesHigh) = Self.bound(arguments[2])
        else { throw .command(.noFloatRange) }
        guard let key = try find(arguments[0], .sortedSet) else { return .integer(0) }
        return .integer(
            try number(
                """
                SELECT count(*) FROM scores WHERE key = ? AND score \(excludesLow ? ">" : ">=") ?
                AND score \(excludesHigh ? "<" : "<=") ?
                """, [.integer(key.id), .real(low), .real(high)]))
    }

    func score(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let key = try find(arguments[0], .sortedSet) else { return .null }
        let score = try row(
            "SELECT score FROM scores WHERE key = ? AND member = ?", [.integer(key.id), .bytes(arguments[1])]
        ) { (row) throws(SQLiteError) in row.real(0) }
        return score.map { .bulk(Self.text($0)) } ?? .null
    }

    func scoreRange(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard var start = Self.integer(arguments[1]), var stop = Self.integer(arguments[2]) else {
            throw .command(.notAnInteger)
        }
        let withScores = arguments.count == 4 && Self.word(arguments[3]) == "WITHSCORES"
        guard arguments.count == 3 || withScores else { throw .command(.syntax) }
        guard let key = try find(arguments[0], .sortedSet) else { return .array([]) }
        let count = try number("SELECT count(*) FROM scores WHERE key = ?", [.integer(key.id)])
        if start < 0 { start = max(0, start &+ count) }
        if stop < 0 { stop = stop &+ count }
        stop = min(stop, count - 1)
        guard start <= stop else { return .array([]) }
        return try members(
            "SELECT member, score FROM scores WHERE key = ? ORDER BY score, member LIMIT ? OFFSET ?",
            [.integer(key.id), .integer(stop - start + 1), .integer(start)], withScores)
    }

    func scoreRangeByScore(_ arguments: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let (low, excludesLow) = Self.bound(arguments[1]), let (high, excludesHigh) = Self.bound(arguments[2])
        else { throw .command(.noFloatRange) }
        var withScores = false
        var (offset, limit): (Int64, Int64) = (0, -1)
        var options = arguments.dropFirst(3)
        while let option = options.popFirst() {
            switch Self.word(option) {
            case "WITHSCORES": withScores = true
            case "LIMIT":
                guard let first = options.popFirst(), let second = options.popFirst() else { throw .command(.syntax) }
                guard let first = Self.integer(first), let second = Self.integer(second) else {
                    throw .command(.notAnInteger)
                }
                (offset, limit) = (first, second)
            default: throw .command(.syntax)
            }
        }
        guard let key = try find(arguments[0], .sortedSet), offset >= 0 else { return .array([]) }
        return try members(
            """
            SELECT member, score FROM scores WHERE key = ? AND score \(excludesLow ? ">" : ">=") ?
            AND score \(excludesHigh ? "<" : "<=") ? ORDER BY score, member LIMIT ? OFFSET ?
            """,
            [.integer(key.id), .real(low), .real(high), .integer(limit < 0 ? -1 : limit), .integer(offset)], withScores)
    }

    private func members(
        _ sql: String, _ values: [SQLiteStatement.Value], _ withScores: Bool
    ) throws(KeySpaceFailure) -> RedisReply {
        let found = try rows(sql, values) { (row) throws(SQLiteError) in (row.bytes(0), row.real(1)) }
        return .array(
            found.flatMap { member, score in
                withScores ? [RedisReply.bulk(member), .bulk(Self.text(score))] : [.bulk(member)]
            })
    }

    // MARK: Numbers

    private static func double(_ bytes: [UInt8]) -> Double? {
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        switch text {
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default:
            guard let value = Double(text), !value.isNaN else { return nil }
            return value
        }
    }

    private static func bound(_ bytes: [UInt8]) -> (value: Double, isExcluded: Bool)? {
        let isExcluded = bytes.first == UInt8(ascii: "(")
        return double(isExcluded ? Array(bytes.dropFirst()) : bytes).map { ($0, isExcluded) }
    }

    private static func text(_ score: Double) -> [UInt8] {
        if score.isInfinite { return Array((score < 0 ? "-inf" : "inf").utf8) }
        if abs(score) < 1e17, let whole = Int64(exactly: score) { return Array("\(whole)".utf8) }
        return Array("\(score)".utf8)
    }
}
