/// The commands that the embedded store knows: those that Holdfast sends, by itself, in scripts or in its tests.
enum KeyCommand: String, CaseIterable {
    case ping, time, info, dbsize, scan, keys, type, exists, del, pexpire, pttl, flushall
    case get, set
    case hget, hmget, hgetall, hkeys, hlen, hexists, hset, hsetnx, hdel, hincrby
    case rpush, llen, lrange, ltrim
    case zadd, zrem, zremrangebyscore, zremrangebyrank, zcard, zcount, zscore, zrange, zrangebyscore
    case xadd, xlen, xrange, xread, xinfo, xtrim
    case eval, evalsha

    private static let byName: [[UInt8]: KeyCommand] = Dictionary(
        uniqueKeysWithValues: allCases.map { (Array($0.rawValue.utf8), $0) })

    init?(_ words: [[UInt8]]) {
        guard let word = words.first, word.count <= 16 else { return nil }
        let lowercased = word.map { $0 >= 65 && $0 <= 90 ? $0 | 32 : $0 }
        guard let command = Self.byName[lowercased] else { return nil }
        self = command
    }

    /// Whether it changes nothing, so that it need not wait for those who write.
    var onlyReads: Bool {
        switch self {
        case .ping, .time, .info, .dbsize, .scan, .keys, .type, .exists, .pttl, .get, .hget, .hmget, .hgetall, .hkeys,
            .hlen, .hexists, .llen, .lrange, .zcard, .zcount, .zscore, .zrange, .zrangebyscore, .xlen, .xrange, .xread,
            .xinfo:
            true
        case .del, .pexpire, .flushall, .set, .hset, .hsetnx, .hdel, .hincrby, .rpush, .ltrim, .zadd, .zrem,
            .zremrangebyscore, .zremrangebyrank, .xadd, .xtrim, .eval, .evalsha:
            false
        }
    }

    /// Whether a command of so many words, its name included, has all it needs.
    func accepts(_ words: Int) -> Bool {
        switch self {
        case .time, .dbsize: words == 1
        case .ping, .flushall: words <= 2
        case .info: words >= 1
        case .keys, .type, .get, .hgetall, .hkeys, .hlen, .llen, .zcard, .xlen, .pttl: words == 2
        case .scan, .exists, .del, .xinfo: words >= 2
        case .hget, .hexists, .zscore: words == 3
        case .set, .hmget, .hdel, .rpush, .zrem, .pexpire, .eval, .evalsha: words >= 3
        case .hincrby, .hsetnx, .lrange, .ltrim, .zcount, .zremrangebyscore, .zremrangebyrank: words == 4
        case .hset: words >= 4 && words % 2 == 0
        case .zadd, .zrange, .zrangebyscore, .xrange, .xread, .xtrim: words >= 4
        case .xadd: words >= 5
        }
    }
}
