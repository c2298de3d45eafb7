internal import Redis

/// The scripts of the schedule; each touches one partition.
enum DueScripts {
    /// Whether a score is what was seen, also one that is no whole number.
    static let same = """
        local function same(is, seen)
            if not is then return false end
            if is == seen then return true end
            local number = tonumber(is)
            return number ~= nil and number == tonumber(seen)
        end

        """

    /// Moves entries on, each of which is answered with 1, or with 0 if it is no longer as it was seen.
    /// KEYS: due set. ARGV: score, then member and score seen of each.
    static let claim = RedisScript(
        same + """
            local claimed = {}
            for i = 2, #ARGV, 2 do
                if same(redis.call('ZSCORE', KEYS[1], ARGV[i]), ARGV[i + 1]) then
                    redis.call('ZADD', KEYS[1], ARGV[1], ARGV[i])
                    claimed[#claimed + 1] = 1
                else claimed[#claimed + 1] = 0 end
            end
            return claimed
            """, isOfRecord: false)

    /// Enters a claimed entry for another time, unless somebody did since. Answers 0 then.
    /// KEYS: due set in which it was claimed, due set for it or nothing more. ARGV: member, score seen, score.
    static let putBack = RedisScript(
        """
        local is = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '')
        if not is or is ~= tonumber(ARGV[2]) then return 0 end
        redis.call('ZREM', KEYS[1], ARGV[1])
        if KEYS[2] then redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1]) end
        return 1
        """, isOfRecord: false)

    /// Enters a lineage of a holder that stands in none of the due sets, or later in one of them than it should. Answers 0
    /// when the holder has it not or nothing had to be done. A score beyond all times is as good as none.
    /// KEYS: holder, due set for it, all due sets. ARGV: field, member, score, `fill` or `hasten`.
    static let enter = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
        for i = 3, #KEYS do
            local is = tonumber(redis.call('ZSCORE', KEYS[i], ARGV[2]) or '')
            if is and is < 253402300799999 and (ARGV[4] == 'fill' or is <= tonumber(ARGV[3])) then return 0 end
        end
        for i = 3, #KEYS do redis.call('ZREM', KEYS[i], ARGV[2]) end
        redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
        return 1
        """)

    /// Enters a reminder that is not there. KEYS: holder, reminders. ARGV: field, member, score.
    static let enterReminder = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
        return redis.call('ZADD', KEYS[2], 'LT', ARGV[3], ARGV[2])
        """)
}
