internal import Redis

/// The scripts that change the store. Each touches one partition, and is a compare-and-set: it answers 0 when what the
/// caller saw is no longer so.
enum StoreScripts {
    /// Sets or removes one lineage of a holder and announces it.
    ///
    /// KEYS: holder, change stream. ARGV: field, what was seen, record or nothing, path, bound of the stream.
    ///
    /// What was seen is the revision of the lineage; or, where there was none, `absent` and the holder's `rev`. Removing
    /// what is not there raises `rev` all the same: a writer that saw the same absence must not write after that.
    /// Revisions are taken from `rev`, which is never removed, so none comes twice. It is announced before it is written:
    /// a script that fails in between leaves what it has done, and a change that nobody hears of would be served as
    /// current for ever.
    static let write = RedisScript(
        """
        local current = redis.call('HGET', KEYS[1], ARGV[1])
        local seen
        if current then seen = string.match(current, '^(%d+):')
        else seen = 'absent ' .. (redis.call('HGET', KEYS[1], 'rev') or '0') end
        if seen ~= ARGV[2] then return 0 end
        local rev = redis.call('HINCRBY', KEYS[1], 'rev', 1)
        if ARGV[3] == '' and not current then return rev end
        redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'k', ARGV[4], 'r', rev)
        if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], rev .. ':' .. ARGV[3])
        else redis.call('HDEL', KEYS[1], ARGV[1]) end
        return rev
        """)

    /// Notes that a holder is about to get a copy of the lineage. KEYS: locator. ARGV: holder seen, new holder.
    static let intend = RedisScript(
        """
        if (redis.call('HGET', KEYS[1], 'holder') or '') ~= ARGV[1] then return 0 end
        local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
        redis.call('HSET', KEYS[1], 'copy:' .. ARGV[2], n)
        return n
        """)

    /// Makes another holder the holder, and notes that the one before still has a copy.
    /// KEYS: locator. ARGV: holder seen, new holder.
    static let hand = RedisScript(
        """
        if (redis.call('HGET', KEYS[1], 'holder') or '') ~= ARGV[1] then return 0 end
        local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
        redis.call('HSET', KEYS[1], 'holder', ARGV[2])
        redis.call('HDEL', KEYS[1], 'copy:' .. ARGV[2])
        if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], 'copy:' .. ARGV[1], n) end
        return n
        """)

    /// Forgets a copy that was removed, unless it was noted anew since. KEYS: locator. ARGV: holder, number seen.
    static let forget = RedisScript(
        """
        if redis.call('HGET', KEYS[1], 'copy:' .. ARGV[1]) ~= ARGV[2] then return 0 end
        return redis.call('HDEL', KEYS[1], 'copy:' .. ARGV[1])
        """)
}
