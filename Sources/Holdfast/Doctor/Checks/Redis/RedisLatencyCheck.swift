import Redis

/// How long Redis takes to answer.
struct RedisLatencyCheck: Check {
    let name = "redis latency"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedis { client throws(RedisError) in
            var times: [Duration] = []
            for _ in 0..<11 {
                let start = ContinuousClock.now
                do throws(RedisError) { _ = try await client.send(["PING"], timeout: nil) } catch {
                    // Being refused takes as long as being answered.
                    guard error.code == .refused else { throw error }
                }
                times.append(.now - start)
            }
            times.sort()
            let (middle, longest) = (times[times.count / 2], times[times.count - 1])
            let sentence = "PING: \(middle.short), the slowest of \(times.count) \(longest.short)"
            guard middle >= .milliseconds(20) else { return .fine(sentence) }
            return .warning(
                sentence,
                "Is it near (same data centre) and not busy? redis-cli --latency, SLOWLOG GET; is its disk slow?")
        }
    }
}
