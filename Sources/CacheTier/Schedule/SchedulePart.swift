import Entitlements
import Redis
import Runtime
import Time

/// What is due in one sorted set of the schedule, and belongs there.
struct SchedulePart: Sendable {
    struct Entry: Sendable {
        let member: String
        let at: Timestamp
        /// As Redis gave it: whoever compares compares this.
        let score: String
        let holder: Holder
        let lineage: LineageID
    }

    var entries: [Entry] = []
    /// So many were not of this schedule or partition, and are gone.
    var removed = 0

    /// The first `limit` by `now`. What does not belong there would stand before the others for ever: it is removed.
    static func due(
        in key: String, _ partition: Int, _ app: AppID, _ environment: StoreEnvironment, by now: Timestamp, limit: Int,
        _ link: StoreLink
    ) async throws(StoreError) -> SchedulePart {
        let reply = try await link.send(
            "ZRANGEBYSCORE", key,
            ["-inf", RedisArgument(now.milliseconds), "WITHSCORES", "LIMIT", "0", RedisArgument(limit)])
        var part = SchedulePart()
        var strays: [RedisArgument] = []
        for (bytes, at, score) in reply.entries {
            let member = String(decoding: bytes, as: UTF8.self)
            guard let (holder, lineage) = LineageSchedule.parse(member, app, environment),
                LineageSchedule.member(lineage, holder).utf8.elementsEqual(bytes),
                StorageLayout.partition(of: holder.path(app, environment)) == partition
            else {
                strays.append(.bytes(bytes))
                continue
            }
            part.entries.append(Entry(member: member, at: at, score: score, holder: holder, lineage: lineage))
        }
        if !strays.isEmpty {
            part.removed = Int(clamping: try await link.send("ZREM", key, strays).integer ?? 0)
        }
        return part
    }
}

/// Counts what was removed from the schedule of an app in one environment because it did not belong there.
struct ScheduleStrays: Sendable {
    private let app: AppID
    private let environment: StoreEnvironment
    private let metrics: Metrics
    private let log: Log

    init(_ app: AppID, _ environment: StoreEnvironment, metrics: Metrics, log: Log) {
        self.app = app
        self.environment = environment
        self.metrics = metrics
        self.log = log.part("schedule").with(["app": .init(app), "environment": .init(environment.rawValue)])
    }

    /// Of one look at all partitions.
    func removed(_ count: Int) {
        guard count > 0 else { return }
        metrics.counter(
            "holdfast_schedule_strays_total", "Entries of the schedule that nobody understands, and that were removed.",
            labels: ["app": app.rawValue, "environment": environment.rawValue]
        ).increment(by: UInt64(count))
        log.warning("entries of the schedule that do not belong there were removed", ["count": .init(count)])
    }
}

extension RedisReply {
    /// Members with their scores, as WITHSCORES gives them. A score that is no time that can be, such as an infinite one, is
    /// the nearest that can.
    var entries: [(member: [UInt8], at: Timestamp, score: String)] {
        let values = array ?? []
        return stride(from: 0, to: values.count - 1, by: 2).compactMap { pair in
            guard let member = values[pair].bytes, let score = values[pair + 1].string else { return nil }
            // Until the year 9999.
            let number = Double(score).map { $0.isNaN ? 0 : min(max($0, 0), 253_402_300_799_999) } ?? 0
            return (member, Timestamp(milliseconds: Int64(number)), score)
        }
    }

    /// The same, as text.
    var scores: [(member: String, score: Timestamp)] {
        entries.map { (String(decoding: $0.member, as: UTF8.self), $0.at) }
    }
}
