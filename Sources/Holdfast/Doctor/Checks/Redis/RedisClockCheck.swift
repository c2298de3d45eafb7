import Redis
import Runtime
import Time

/// Whether Redis' clock and ours agree: both say when something happened.
struct RedisClockCheck: Check {
    let name = "clock, redis"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedis { client throws(RedisError) in
            let before = patient.clock.now()
            let reply: RedisReply
            do throws(RedisError) { reply = try await client.send(["TIME"], timeout: nil) } catch {
                guard error.code == .refused else { throw error }
                return .notChecked("the user may not ask (\(error.message))")
            }
            let after = patient.clock.now()
            guard let parts = reply.array, parts.count == 2, let seconds = parts[0].string.flatMap({ Int64($0) }),
                let microseconds = parts[1].string.flatMap({ Int64($0) }), 0...253_402_300_799 ~= seconds
            else { return .notChecked("Redis replied what is no time") }
            let theirs = Timestamp(milliseconds: seconds * 1000 + microseconds / 1000)
            let skew = ClockSkew(earliest: theirs - after, latest: theirs - before)
            return skew.finding(comparedWith: "Redis'", warningAt: .seconds(5), wrongAt: .seconds(300))
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
