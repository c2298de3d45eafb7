internal import Redis

/// The scripts of the shared bucket. It is a hash that is gone when it would be full anyway:
///
/// | field | what |
/// |---|---|
/// | `n`, `at` | calls left, and when that was so (Redis' clock, milliseconds) |
/// | `stop` | until when Apple wants no calls |
/// | `w0`, `w1` | until when a call of that priority waits: those below it let it go first |
enum CallBucketScripts {
    /// Replies 0 when the call may be made, else for how many milliseconds none of this priority may.
    ///
    /// KEYS: bucket. ARGV: calls a millisecond, calls in a full bucket, calls to leave in it, priority, longest pause.
    ///
    /// A clock that was set back makes nobody wait for it to catch up.
    static let take = RedisScript(
        """
        local rate, cap, reserve = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local priority, longest = tonumber(ARGV[4]), tonumber(ARGV[5])
        local t = redis.call('TIME')
        local now = t[1] * 1000 + t[2] / 1000
        local h = redis.call('HMGET', KEYS[1], 'n', 'at', 'stop', 'w0', 'w1')
        local n, at = tonumber(h[1]) or cap, tonumber(h[2]) or now
        if now > at then n = n + (now - at) * rate end
        if n > cap then n = cap end
        local wait = 0
        local stop = tonumber(h[3]) or 0
        if stop > now and stop - now <= longest then wait = stop - now
        elseif n + 1e-9 < 1 + reserve then wait = (1 + reserve - n) / rate end
        if wait == 0 then
          for p = 0, math.min(priority, 2) - 1 do
            local w = tonumber(h[4 + p]) or 0
            if w > now and w - now <= longest then wait = math.max(wait, math.min(w - now, 1 / rate)) end
          end
        end
        local fields = { 'at', string.format('%.3f', now) }
        local keep = cap / rate
        if wait == 0 then
          n = n - 1
          if priority < 2 then
            table.insert(fields, 'w' .. priority)
            table.insert(fields, '0')
          end
        else
          wait = math.max(1, math.ceil(wait))
          keep = math.max(keep, wait)
          if priority < 2 and wait <= longest then
            table.insert(fields, 'w' .. priority)
            table.insert(fields, string.format('%.3f', now + wait + 250))
          end
        end
        table.insert(fields, 'n')
        table.insert(fields, string.format('%.6f', n))
        if stop > now then keep = math.max(keep, math.min(stop - now, longest)) end
        redis.call('HSET', KEYS[1], unpack(fields))
        redis.call('PEXPIRE', KEYS[1], math.ceil(keep) + 1000)
        return wait
        """, isOfRecord: false)

    /// Stops the lane for so many milliseconds, unless it is stopped for longer. KEYS: bucket. ARGV: milliseconds, most.
    static let pause = RedisScript(
        """
        local t = redis.call('TIME')
        local now = t[1] * 1000 + t[2] / 1000
        local delay = math.min(tonumber(ARGV[1]), tonumber(ARGV[2]))
        local stop = tonumber(redis.call('HGET', KEYS[1], 'stop')) or 0
        if stop < now + delay or stop - now > tonumber(ARGV[2]) then
          redis.call('HSET', KEYS[1], 'stop', string.format('%.3f', now + delay))
          stop = now + delay
        end
        local left = redis.call('PTTL', KEYS[1])
        redis.call('PEXPIRE', KEYS[1], math.max(left, math.ceil(stop - now) + 1000))
        return 1
        """, isOfRecord: false)
}
