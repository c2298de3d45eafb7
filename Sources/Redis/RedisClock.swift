package import Runtime
internal import Time

/// Redis' clock, as a server's reply to TIME shows it.
package struct RedisClock: Sendable, Hashable {
    /// Between which it is ahead of ours: the reply does not say when between question and answer it was made.
    package let ahead: ClosedRange<Duration>

    /// Asks one server; nil when it replies what is no time.
    package static func compare(
        with server: any RedisCommands, by clock: WallClock
    ) async throws(RedisError) -> RedisClock? {
        let before = clock.now()
        let reply = try await server.send(["TIME"])
        let after = clock.now()
        guard let parts = reply.array, parts.count == 2, let seconds = parts[0].string.flatMap({ Int64($0) }),
            let microseconds = parts[1].string.flatMap({ Int64($0) }), 0...253_402_300_799 ~= seconds,
            0..<1_000_000 ~= microseconds
        else { return nil }
        let theirs = Timestamp(milliseconds: seconds * 1000 + microseconds / 1000)
        // Ours may have been set meanwhile.
        return RedisClock(ahead: theirs - max(before, after)...theirs - min(before, after))
    }

    /// The least that explains what was seen.
    package var aheadAtLeast: Duration {
        if ahead.lowerBound > .zero { return ahead.lowerBound }
        return ahead.upperBound < .zero ? ahead.upperBound : .zero
    }
}
