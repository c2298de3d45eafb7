internal import Redis

/// The keys of the queue's file, and the scripts that change it.
///
/// | key | type | what |
/// |---|---|---|
/// | `q:ledger` | stream | everything that came in, as it came in; `m` is the message |
/// | `q:work` | sorted set | what is to be applied, by when it is due; those of one instant in the order in which they came |
/// | `q:messages` | hash | the messages of `q:work` |
/// | `q:quarantine` | sorted set | what cannot be used yet, by when it was put there |
/// | `q:quarantined` | hash | the messages of `q:quarantine` |
/// | `q:events` | stream | events for others, with a bound; `k` is the routing key, `m` the message |
/// | `q:facts` | hash | `n`, the number given last; `moved`, up to where the ledger was carried over to RabbitMQ |
enum QueueScripts {
    static let ledger = "q:ledger"
    static let work = "q:work"
    static let messages = "q:messages"
    static let quarantine = "q:quarantine"
    static let quarantined = "q:quarantined"
    static let events = "q:events"
    static let facts = "q:facts"

    /// Puts a message into a line, and into the ledger if it is to be there.
    /// KEYS: line, messages of the line, facts, ledger. ARGV: score, message, `1` for the ledger too.
    static let add = RedisScript(
        """
        local id = string.format('%016.0f', redis.call('HINCRBY', KEYS[3], 'n', 1))
        redis.call('HSET', KEYS[2], id, ARGV[2])
        redis.call('ZADD', KEYS[1], ARGV[1], id)
        if ARGV[3] == '1' then redis.call('XADD', KEYS[4], '*', 'm', ARGV[2]) end
        return id
        """)

    /// Takes a message out of a line; answers 1 if it was there. KEYS: line, messages of the line. ARGV: id.
    static let remove = RedisScript(
        """
        redis.call('HDEL', KEYS[2], ARGV[1])
        return redis.call('ZREM', KEYS[1], ARGV[1])
        """)

    /// Moves a message from quarantine to work and into the ledger; answers 0 when somebody else did.
    /// KEYS: quarantine, its messages, work, its messages, ledger. ARGV: id, due, message.
    static let putBack = RedisScript(
        """
        if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
        redis.call('HDEL', KEYS[2], ARGV[1])
        redis.call('HSET', KEYS[4], ARGV[1], ARGV[3])
        redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
        redis.call('XADD', KEYS[5], '*', 'm', ARGV[3])
        return 1
        """)
}
