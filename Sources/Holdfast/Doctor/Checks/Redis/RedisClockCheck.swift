import Redis
import Runtime

/// Whether Redis' clock and ours agree: both say when something happened.
struct RedisClockCheck: Check {
    let name = "clock, redis"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withEachRedis { server throws(RedisError) in
            let clock: RedisClock?
            do throws(RedisError) { clock = try await RedisClock.compare(with: server, by: patient.clock) } catch {
                guard error.code == .refused else { throw error }
                return .notChecked("the user may not ask (\(error.message))")
            }
            guard let clock else { return .notChecked("Redis replied what is no time") }
            return ClockSkew(earliest: clock.ahead.lowerBound, latest: clock.ahead.upperBound)
                .finding(comparedWith: "Redis'", warningAt: .seconds(5), wrongAt: .seconds(300))
        }
    }
}

/// How far another clock is ahead of ours, as far as one answer tells.
struct ClockSkew {
    let earliest: Duration
    let latest: Duration

    /// The least that explains what was seen.
    var atLeast: Duration {
        if earliest > .zero { return earliest }
        return latest < .zero ? latest : .zero
    }

    func finding(comparedWith whose: String, warningAt: Duration, wrongAt: Duration) -> Finding {
        let skew = atLeast
        let size = skew < .zero ? .zero - skew : skew
        let sentence =
            size < .milliseconds(100)
            ? "ours and \(whose) agree" : "ours is \(size.seconds) s \(skew > .zero ? "behind" : "ahead of") \(whose)"
        let remedy = "timedatectl set-ntp true, on the machine that is wrong; timedatectl shows which one keeps time."
        if size >= wrongAt { return .wrong(sentence, remedy) }
        if size >= warningAt { return .warning(sentence, remedy) }
        return .fine(sentence)
    }
}
