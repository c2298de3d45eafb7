internal import Redis
package import Time

/// The regular comparison of Apple's history with what came: what it found last, and what it must begin with next.
extension RecoveryStore {
    /// Of which processes it is remembered when one was there last.
    package enum Role: String, Sendable, CaseIterable {
        case gateway, consumer

        var silence: BackfillGap.Cause {
            switch self {
            case .gateway: .gatewaysSilent
            case .consumer: .consumersSilent
            }
        }
    }

    /// All that is known of the regular comparison.
    package struct Standing: Sendable, Hashable {
        /// Nil: the history of this app and environment was never read.
        package var check: BackfillCheck?
        package var gaps: [BackfillGap] = []
        /// The one that is going on, or the last.
        package var job: RecoveryJob?
        /// The reading of all that Apple keeps, of an app that is new here.
        package var first: RecoveryJob?
        package init() {}
    }

    package static let regularName = "regular"
    package static let newAppName = "new-app"

    package func standing() async throws(StoreError) -> Standing {
        var standing = Standing()
        for (name, value) in try await fields() {
            switch name {
            case "check": standing.check = BackfillCheck(value)
            case "j:\(Self.regularName)": standing.job = RecoveryJob(value)
            case "j:\(Self.newAppName)": standing.first = RecoveryJob(value)
            default:
                let text = String(decoding: value, as: UTF8.self)
                if let gap = BackfillGap(field: name, value: text) { standing.gaps.append(gap) }
            }
        }
        return standing
    }

    package func missing() async throws(StoreError) -> MissingNotifications {
        try await link.send("HGET", key, ["missing"]).bytes.flatMap(MissingNotifications.init) ?? MissingNotifications()
    }

    /// Under the lease of `regularName`.
    package func save(_ missing: MissingNotifications) async throws(Failure) {
        try await write(missing, to: "missing", leasedAs: Self.regularName)
    }

    /// Under the lease of `regularName`.
    package func save(_ check: BackfillCheck) async throws(Failure) {
        try await write(check, to: "check", leasedAs: Self.regularName)
    }

    // MARK: Gaps

    package func note(_ gap: BackfillGap) async throws(StoreError) {
        _ = try await link.evaluate(
            GapScripts.note, keys: [key],
            arguments: [
                .text(gap.field), RedisArgument(gap.from.milliseconds), RedisArgument(gap.until.milliseconds),
            ])
    }

    /// Removes those that are still as they were seen.
    package func clear(_ gaps: [BackfillGap]) async throws(StoreError) {
        for gap in gaps {
            _ = try await link.evaluate(
                GapScripts.clear, keys: [key], arguments: [.text(gap.field), .text(gap.value)])
        }
    }

    /// Enters one whose end lies ahead, as a clock had it that was ahead, as one until `now`: else no check would ever reach
    /// over it. Returns what is to be read over.
    package func cap(_ gap: BackfillGap, at now: Timestamp) async throws(StoreError) -> BackfillGap {
        let capped = gap.capped(at: now)
        guard capped != gap else { return gap }
        let isCapped =
            try await link.evaluate(
                GapScripts.replace, keys: [key], arguments: [.text(gap.field), .text(gap.value), .text(capped.value)])
            != nil
        // It has widened since, and is looked at again with the next check.
        return isCapped ? capped : gap
    }

    /// Clocks of two processes may differ by so much.
    private static let skew = Duration.seconds(10)

    /// Says that a process of this role is there. What Redis says of the last time but cannot be, as a clock had it that was
    /// ahead, counts as a silence: nobody knows how long it was. If none was for longer than `silence`, that is a gap, whose length is
    /// returned.
    @discardableResult
    package func beat(_ role: Role, at now: Timestamp, silence: Duration) async throws(StoreError) -> Duration? {
        let silent = try await link.evaluate(
            GapScripts.beat, keys: [key],
            arguments: [
                "heard:\(role.rawValue)", RedisArgument(now.milliseconds),
                RedisArgument(Int64(silence / .milliseconds(1))), .text(BackfillGap.field(role.silence)),
                RedisArgument(Int64(Self.skew / .milliseconds(1))),
            ])
        return silent.map { .milliseconds(Int64(clamping: $0)) }
    }
}

private enum GapScripts {
    private static let widen = """
        local function widen(field, from, till)
            local seen = redis.call('HGET', KEYS[1], field) or ''
            local first, last = string.match(seen, '^(%-?%d+) (%-?%d+)$')
            if first and tonumber(first) < tonumber(from) then from = first end
            if last and tonumber(last) > tonumber(till) then till = last end
            redis.call('HSET', KEYS[1], field, from .. ' ' .. till)
        end

        """

    /// KEYS: hash. ARGV: field, from, until.
    static let note = RedisScript(
        widen + """
            widen(ARGV[1], ARGV[2], ARGV[3])
            return 1
            """)

    /// KEYS: hash. ARGV: field, what was seen.
    static let clear = RedisScript(
        """
        if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
        return redis.call('HDEL', KEYS[1], ARGV[1])
        """)

    /// KEYS: hash. ARGV: field, what was seen, value.
    static let replace = RedisScript(
        """
        if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
        return 1
        """)

    /// Answers for how long nobody was there, if that was too long.
    /// KEYS: hash. ARGV: field, now, silence, field of the gap, how far ahead another clock may be.
    static let beat = RedisScript(
        widen + """
            local heard = redis.call('HGET', KEYS[1], ARGV[1])
            if not heard then
                redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
                return 0
            end
            local last = string.match(heard, '^%-?%d+$') and #heard < 16 and tonumber(heard)
            if not last or last > tonumber(ARGV[2]) + tonumber(ARGV[5]) then
                redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
                widen(ARGV[4], string.format('%.0f', tonumber(ARGV[2]) - tonumber(ARGV[3])), ARGV[2])
                return math.max(1, tonumber(ARGV[3]))
            end
            local silent = tonumber(ARGV[2]) - last
            if silent > 0 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
            if silent <= tonumber(ARGV[3]) then return 0 end
            widen(ARGV[4], heard, ARGV[2])
            return silent
            """, isOfRecord: false)
}
