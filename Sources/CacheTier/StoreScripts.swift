internal import Redis

/// The scripts that change the store. Each touches one partition, and is a compare-and-set: it answers 0 when what the
/// caller saw is no longer so.
enum StoreScripts {
    /// Sets or removes one lineage of a holder with its history and its places in indexes, and announces it.
    ///
    /// KEYS: holder, change stream, history, indexes. ARGV: field, what was seen, record or nothing, path, bound of the
    /// stream, `append` or `replace`, bound of the history; for each index what `IndexUpdate` says; entries of the history.
    ///
    /// What was seen is the revision of the lineage; or, where there was none, `absent` and the holder's `rev`. Removing
    /// what is not there raises `rev` all the same: a writer that saw the same absence must not write after that.
    /// Revisions are taken from `rev`, which is never removed, so none comes twice. It is announced before it is written:
    /// a script that fails in between leaves what it has done, and a change that nobody hears of would be served as
    /// current for ever. The record comes last, so that nothing that belongs to it is missing once it is there.
    static let write = RedisScript(
        """
        local current = redis.call('HGET', KEYS[1], ARGV[1])
        local seen
        if current then seen = string.match(current, '^(%d+):')
        else seen = 'absent ' .. (redis.call('HGET', KEYS[1], 'rev') or '0') end
        if seen ~= ARGV[2] then return 0 end
        local rev = redis.call('HINCRBY', KEYS[1], 'rev', 1)
        if ARGV[3] ~= '' or current then
            redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'k', ARGV[4], 'r', rev)
        end
        local entries = 8 + 3 * (#KEYS - 3)
        if ARGV[3] ~= '' then
            if ARGV[6] == 'replace' then redis.call('DEL', KEYS[3]) end
            for i = entries, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
            if #ARGV >= entries then redis.call('LTRIM', KEYS[3], -tonumber(ARGV[7]), -1) end
        end
        for i = 4, #KEYS do
            local member, score, keep = ARGV[3 * i - 4], ARGV[3 * i - 3], ARGV[3 * i - 2]
            if score == '' then redis.call('ZREM', KEYS[i], member)
            elseif keep == '' then redis.call('ZADD', KEYS[i], score, member)
            else redis.call('ZADD', KEYS[i], keep, score, member) end
        end
        if ARGV[3] ~= '' then
            redis.call('HSET', KEYS[1], ARGV[1], rev .. ':' .. ARGV[3])
        else
            redis.call('HDEL', KEYS[1], ARGV[1])
            redis.call('DEL', KEYS[3])
        end
        return rev
        """)

    /// Notes that holders are about to get copies of the lineage; with news, also what they are about to get, which is
    /// accepted by that: no other claim was in between, and none can be before the news is everywhere.
    ///
    /// KEYS: locator. ARGV: holders seen, new holders, number seen and news (both or neither).
    static let intend = RedisScript(
        """
        if (redis.call('HGET', KEYS[1], 'holder') or '') ~= ARGV[1] then return 0 end
        if ARGV[4] ~= '' then
            if (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[3] then return 0 end
            if redis.call('HEXISTS', KEYS[1], 'news') == 1 then return 0 end
        end
        local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
        if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'news', ARGV[4]) end
        for holder in string.gmatch(ARGV[2], '%S+') do redis.call('HSET', KEYS[1], 'copy:' .. holder, n) end
        return n
        """)

    /// Makes others the holders, and notes that those before still have copies; the news seen are everywhere by now.
    /// KEYS: locator. ARGV: holders seen, new holders, news seen.
    static let hand = RedisScript(
        """
        if (redis.call('HGET', KEYS[1], 'holder') or '') ~= ARGV[1] then return 0 end
        if (redis.call('HGET', KEYS[1], 'news') or '') ~= ARGV[3] then return 0 end
        local n = redis.call('HINCRBY', KEYS[1], 'n', 1)
        redis.call('HSET', KEYS[1], 'holder', ARGV[2])
        redis.call('HDEL', KEYS[1], 'news')
        for holder in string.gmatch(ARGV[1], '%S+') do redis.call('HSET', KEYS[1], 'copy:' .. holder, n) end
        for holder in string.gmatch(ARGV[2], '%S+') do redis.call('HDEL', KEYS[1], 'copy:' .. holder) end
        return n
        """)

    /// Forgets a copy that was removed, unless it was noted anew since. KEYS: locator. ARGV: holder, number seen.
    static let forget = RedisScript(
        """
        if redis.call('HGET', KEYS[1], 'copy:' .. ARGV[1]) ~= ARGV[2] then return 0 end
        return redis.call('HDEL', KEYS[1], 'copy:' .. ARGV[1])
        """)

    /// Makes the index say of one unclaimed lineage what its holder's hash says; answers 2 when it is there, 1 when not.
    /// KEYS: holder, index. ARGV: field, member, score for one that is new to the index.
    static let index = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
            redis.call('ZADD', KEYS[2], 'NX', ARGV[3], ARGV[2])
            return 2
        end
        redis.call('ZREM', KEYS[2], ARGV[2])
        return 1
        """)
}
