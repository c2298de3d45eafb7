package import Entitlements
package import Redis
package import Time

/// Goes through the schedule of an app in one environment and gives the records of all about whose access there may be
/// doubt: those whose next check has to do with access, whenever it is, and those whose check is due and was not made.
///
/// No lineage comes into doubt by the clock alone without standing in one of the two: `Cadence` has it asked about before
/// its state changes, or by a row of the new state. What others claim meanwhile may be left out: they ask about it.
package struct DueWalk: Sendable {
    private let link: StoreLink
    private let app: AppID
    private let environment: StoreEnvironment
    private let now: Timestamp
    private let limit: Int
    private var rest: ArraySlice<(urgency: Urgency, partition: Int)>
    private var place = Place()

    /// In one sorted set: from which score on, and how many of that score were seen.
    private struct Place {
        /// As Redis gave it.
        var from: String?
        var offset = 0
    }

    package init(
        redis: any RedisCommands, app: AppID, environment: StoreEnvironment, at now: Timestamp, limit: Int = 200
    ) {
        link = StoreLink(redis: redis)
        self.app = app
        self.environment = environment
        self.now = now
        self.limit = max(1, limit)
        rest =
            Urgency.allCases.flatMap { urgency in
                (0..<StorageLayout.partitions).map { (urgency: urgency, partition: $0) }
            }[...]
    }

    /// The next ones, possibly none, and some perhaps twice; nil at the end.
    package mutating func next() async throws(StoreError) -> [LineageRecord]? {
        guard let subject = rest.first else { return nil }
        let key = StorageLayout.due(subject.urgency, app, environment, partition: subject.partition)
        let from: RedisArgument = place.from.map { .text($0) } ?? "-inf"
        let until: RedisArgument = subject.urgency == .access ? "+inf" : RedisArgument(now.milliseconds)
        let found = try await link.send(
            "ZRANGEBYSCORE", key,
            [from, until, "WITHSCORES", "LIMIT", RedisArgument(place.offset), RedisArgument(limit)]
        ).entries
        if found.count < limit {
            rest = rest.dropFirst()
            place = Place()
        } else if let last = found.last?.score {
            // The set may lose entries meanwhile, so it is counted within one score only, and only if it must be.
            place = Place(from: last, offset: last == place.from ? place.offset + found.count : 0)
        }
        let (app, environment) = (app, environment)
        return try await link.each(found.map { String(decoding: $0.member, as: UTF8.self) }) {
            (link, member) async throws(StoreError) -> LineageRecord? in
            guard let (holder, lineage) = LineageSchedule.parse(member, app, environment) else { return nil }
            return try await LineageReader(link: link, keys: StoredLineageKeys(lineage)).copy(of: holder).record
        }.compactMap(\.self)
    }
}
