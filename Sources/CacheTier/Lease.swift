internal import Redis

/// Somebody's turn at what one process at a time does. It runs out by itself, so that a dead one's work is taken over.
struct Lease: Sendable {
    let redis: any RedisCommands
    let key: String
    let owner: String
    let time: Duration

    /// Whoever asks under no name of its own.
    static func newOwner() -> String { String(UInt64.random(in: .min ... .max), radix: 16) }

    /// Takes or keeps it; false while somebody else has it.
    func take() async throws(RedisError) -> Bool {
        try await evaluate(LeaseScripts.take, [key], terms)
    }

    /// Writes a field of a hash in the partition of the lease and keeps the lease; false when it is lost.
    func write(_ field: String, _ value: [UInt8], of hash: String) async throws(RedisError) -> Bool {
        try await evaluate(LeaseScripts.write, [hash, key], terms + [.text(field), .bytes(value)])
    }

    /// Lets others have it at once.
    func release() async throws(RedisError) { _ = try await evaluate(LeaseScripts.release, [key], [.text(owner)]) }

    private var terms: [RedisArgument] { [.text(owner), RedisArgument(max(1, Int64(time / .milliseconds(1))))] }

    private func evaluate(
        _ script: RedisScript, _ keys: [String], _ arguments: [RedisArgument]
    ) async throws(RedisError) -> Bool {
        try await redis.evaluate(script, keys: keys, arguments: arguments).integer == 1
    }
}

/// The scripts of a lease.
private enum LeaseScripts {
    /// Answers 0 while somebody else has it. KEYS: lease. ARGV: who, milliseconds.
    static let take = RedisScript(
        """
        local holder = redis.call('GET', KEYS[1])
        if holder and holder ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
        """, isOfRecord: false)

    /// Answers 0 to whoever has lost it. KEYS: hash, lease. ARGV: who, milliseconds, field, value.
    static let write = RedisScript(
        """
        if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
        redis.call('PEXPIRE', KEYS[2], ARGV[2])
        redis.call('HSET', KEYS[1], ARGV[3], ARGV[4])
        return 1
        """)

    /// KEYS: lease. ARGV: who.
    static let release = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        """, isOfRecord: false)
}
