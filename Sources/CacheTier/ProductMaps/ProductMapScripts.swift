internal import Redis

/// The scripts that change the product maps. All keys of one app's maps are in one partition.
enum ProductMapScripts {
    /// Publishes a version, if the current one is the one that the publisher has seen; answers 1 or 0, and the current
    /// number. Its recomputation is noted in the same step, so that one which is interrupted is never forgotten.
    ///
    /// KEYS: maps. ARGV: number seen, next number, digest, facts, document, recomputation; for the first version also the
    /// facts and the document of the settings' map, which becomes number 0.
    static let publish = RedisScript(
        """
        local current = string.match(redis.call('HGET', KEYS[1], 'current') or '0', '^%d+')
        if current ~= ARGV[1] then return {0, current} end
        if redis.call('HEXISTS', KEYS[1], 'd:' .. ARGV[2]) == 1 then return {0, ARGV[2]} end
        if ARGV[7] and redis.call('HEXISTS', KEYS[1], 'd:0') == 0 then
            redis.call('HSET', KEYS[1], 'm:0', ARGV[7], 'd:0', ARGV[8])
        end
        redis.call('HSET', KEYS[1], 'm:' .. ARGV[2], ARGV[4], 'd:' .. ARGV[2], ARGV[5], 'r:' .. ARGV[2], ARGV[6],
            'current', ARGV[2] .. ' ' .. ARGV[3])
        return {1, ARGV[2]}
        """)

    /// Puts back a version that was in force before Redis lost it; answers 0 when one counts by now.
    ///
    /// Nobody has to be told of it: it is what everybody has gone by all the while. KEYS: maps. ARGV: number, digest,
    /// facts, document.
    static let restore = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], 'current') == 1 then return 0 end
        redis.call('HSET', KEYS[1], 'm:' .. ARGV[1], ARGV[3], 'd:' .. ARGV[1], ARGV[4],
            'current', ARGV[1] .. ' ' .. ARGV[2])
        return 1
        """)

    /// Notes which map the settings have while none is published. Another one than before is to be told of, from the first
    /// that not everybody was told of on; answers 1 then. KEYS: maps. ARGV: document, recomputation, now.
    static let noteSettings = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], 'current') == 1 then return 0 end
        local before = redis.call('HGET', KEYS[1], 's')
        if before == ARGV[1] then return 0 end
        redis.call('HSET', KEYS[1], 's', ARGV[1])
        if not before then return 0 end
        local open = redis.call('HGET', KEYS[1], 'r:0')
        if not (open and string.find(open, '"done":false', 1, true)) then
            redis.call('HSET', KEYS[1], 's:before', before)
        end
        redis.call('HSET', KEYS[1], 's:at', ARGV[3], 'r:0', ARGV[2])
        return 1
        """)

    /// Counts a product that no map knows; beyond the bound of names only their number is kept.
    /// KEYS: unmapped products. ARGV: field, now, count, bound.
    static let noteUnmapped = RedisScript(
        """
        local found = redis.call('HGET', KEYS[1], ARGV[1])
        if not found and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
            return redis.call('HINCRBY', KEYS[1], 'more', 1)
        end
        local count, first, last = string.match(found or '', '^(%d+) (%d+) (%d+)$')
        count = string.format('%.0f', (tonumber(count) or 0) + tonumber(ARGV[3]))
        if not last or tonumber(last) < tonumber(ARGV[2]) then last = ARGV[2] end
        redis.call('HSET', KEYS[1], ARGV[1], count .. ' ' .. (first or ARGV[2]) .. ' ' .. last)
        return 1
        """, isOfRecord: false)
}
