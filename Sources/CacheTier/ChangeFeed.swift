internal import Redis
internal import Runtime

/// Follows the change streams of all partitions and keeps memory from outliving what it tells.
///
/// Reading is by position, so nothing is missed while the connection is down, unless the streams were trimmed meanwhile
/// or Redis came back with other data. Whether that is so can be said only after a read (what was there before it can be
/// gone during it), so it is checked then, whenever the feed was behind; and if so, memory begins a new epoch. A store
/// that is emptied under an open connection shows in nothing but its identity, so that is asked for again and again.
///
/// A server that took over from a failed one may lack the last changes, and have made others since: then the last entry
/// that was read is no longer there. Changes that were lost before anybody read them show nowhere; the ledger has them.
final class ChangeFeed: Sendable {
    private let redis: any RedisLink
    /// What reads compare the store with.
    private let layout: LayoutGuard?
    private let settings: CacheSettings
    private let memory: MemoryTier
    private let status: FeedStatus
    private let snapshot: Snapshot?
    private let metrics: CacheMetrics
    private let log: Log
    /// Reads changed customers again; returns those that could not be read.
    private let refresh: @Sendable (Set<CustomerKey>) async -> Set<CustomerKey>

    init(
        redis: any RedisLink, layout: LayoutGuard? = nil, settings: CacheSettings, memory: MemoryTier,
        status: FeedStatus, snapshot: Snapshot?,
        metrics: CacheMetrics, log: Log, refresh: @escaping @Sendable (Set<CustomerKey>) async -> Set<CustomerKey>
    ) {
        self.layout = layout
        self.redis = redis
        self.settings = settings
        self.memory = memory
        self.status = status
        self.snapshot = snapshot
        self.metrics = metrics
        self.log = log.part("feed")
        self.refresh = refresh
    }

    /// Where the follower is. It belongs to the task that follows.
    private struct Place {
        var positions = [StreamPosition](repeating: .beginning, count: StorageLayout.partitions)
        /// Which store the positions are of; nil as long as there are none.
        var store: String?
        /// Whether it must be checked that nothing was missed.
        var isDoubtful = true
        /// The connection over which it was checked.
        var connection = 0
        /// When the store was last asked which one it is.
        var identifiedAt: ContinuousClock.Instant?
        /// Changed customers that are still to be read again.
        var outdated: Set<CustomerKey> = []
    }

    private struct Batch {
        var changes: [(path: String, revision: UInt64)] = []
        var positions: [StreamPosition]
        /// Whether a stream may hold more than was taken.
        var isPartial = false
    }

    /// Follows until the task is cancelled or the client is closed.
    func follow() async {
        var place = Place()
        // Where the snapshot was left, so that it need not be filled anew.
        if let known = snapshot?.place { (place.store, place.positions) = (known.store, known.positions) }
        while !Task.isCancelled {
            guard await redis.waitUntilConnected(within: .seconds(1)) else { continue }
            do throws(StoreError) {
                try await step(&place)
            } catch {
                place.isDoubtful = true
                metrics.feedIsLive.set(0)
                if case .redis(let cause) = error, cause.code == .closed { return }
                log.warning("change feed interrupted", ["reason": .init(error)])
                // One that Redis refuses would be refused again at once; a lost connection is waited for anyway.
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func step(_ place: inout Place) async throws(StoreError) {
        let connection = redis.connections
        if connection != place.connection { place.isDoubtful = true }
        if place.isDoubtful || place.identifiedAt.map({ .now - $0 >= settings.feedWait }) ?? true {
            let asked = ContinuousClock.now
            let store = try await LayoutGuard(redis: redis).identity()
            if place.store != store { return try await begin(&place, in: store) }
            place.identifiedAt = asked
        }
        let batch = try await read(after: place.positions, waiting: !place.isDoubtful)
        if place.isDoubtful || batch.isPartial {
            switch try await continuity(from: place.positions) {
            case .unbroken: break
            case .trimmed:
                log.warning("change feed lost its place", ["reason": "changes were trimmed before they were read"])
                return try await begin(&place, in: place.store ?? "")
            case .wentBack: return try await begin(&place, in: "")
            }
        }
        // The server at the other end may have come back as another one in between.
        guard connection == redis.connections else { return }
        place.positions = batch.positions
        place.isDoubtful = batch.isPartial
        place.connection = connection
        metrics.changes.increment(by: UInt64(batch.changes.count))
        let heard: ContinuousClock.Instant? = batch.isPartial ? nil : .now
        snapshot?.take(batch.changes.map(\.path), batch.positions, heard: heard)
        for change in batch.changes {
            if let key = memory.notice(change.path, revision: change.revision) { place.outdated.insert(key) }
        }
        if !batch.isPartial {
            status.placed()
            status.heard()
            metrics.feedIsLive.set(1)
        }
        if !place.outdated.isEmpty {
            place.outdated = await refresh(place.outdated)
            // The rest is read when somebody asks for it.
            while place.outdated.count > 10_000 { place.outdated.removeFirst() }
        }
    }

    /// Takes the present ends of the streams as its place; what was read before is in doubt.
    private func begin(_ place: inout Place, in store: String) async throws(StoreError) {
        var positions: [StreamPosition] = []
        for extent in try await extents() { positions.append(extent.last ?? .beginning) }
        let wasReplaced = place.store != nil && place.store != store
        if place.store != nil { metrics.resets.increment() }
        if wasReplaced {
            log.error("the store lost data: memory keeps what it has", ["store": .init(store)])
            status.storeWasReplaced()
        }
        // First the ends, then the epoch: what is read in it is not older than the ends.
        memory.beginEpoch(lastHeard: status.now.lastHeard ?? .now, storeWasReplaced: wasReplaced)
        let identity = store.isEmpty ? try await LayoutGuard(redis: redis).identity() : store
        // A read that is the first of all must know, too, which store was there before; and one that comes later must not
        // take for another one what the feed follows by now.
        layout?.follow(identity)
        place = Place(positions: positions, store: identity, isDoubtful: true)
        snapshot?.begin(identity, positions, wasReplaced: wasReplaced)
    }

    // MARK: Commands

    private func read(
        after positions: [StreamPosition], waiting: Bool
    ) async throws(StoreError) -> Batch {
        let end = ContinuousClock.now + (waiting ? settings.feedWait : .zero)
        while true {
            let batch = try await batch(after: positions, waiting: waiting)
            // Where news can be waited for, that has been done.
            if redis.takesManySlots || !batch.changes.isEmpty || batch.isPartial { return batch }
            let rest = min(settings.feedPoll, end - .now)
            if rest <= .zero || Task.isCancelled { return batch }
            try? await Task.sleep(for: rest)
        }
    }

    private func batch(after positions: [StreamPosition], waiting: Bool) async throws(StoreError) -> Batch {
        var batch = Batch(positions: positions)
        for stream in try await entries(after: positions, atMost: settings.feedBatch, waiting: waiting) {
            if stream.entries.count >= settings.feedBatch { batch.isPartial = true }
            for (position, fields) in stream.entries {
                batch.positions[stream.partition] = position
                if let change = Self.change(fields) { batch.changes.append(change) }
            }
        }
        return batch
    }

    private typealias Entries = (partition: Int, entries: [(StreamPosition, RedisReply)])

    /// What the streams have behind the positions: one command where one may name them all, else one a stream, at once.
    private func entries(
        after positions: [StreamPosition], atMost count: Int, waiting: Bool = false
    ) async throws(StoreError) -> [Entries] {
        var start: [RedisArgument] = ["XREAD", "COUNT", RedisArgument(count)]
        guard !redis.takesManySlots else {
            if waiting { start += ["BLOCK", RedisArgument(Int64(max(1, settings.feedWait / .milliseconds(1))))] }
            let names = StorageLayout.changeStreams.map { RedisArgument.text($0) }
            let places = positions.map { RedisArgument.text($0.description) }
            do throws(RedisError) {
                return try Self.entries(
                    in: try await redis.send(
                        start + ["STREAMS"] + names + places,
                        timeout: redis.commandTimeout + (waiting ? settings.feedWait : .zero)))
            } catch { throw .redis(error) }
        }
        let parts: [[Entries]] = try await StoreLink(redis: redis).each(Array(positions.enumerated())) {
            [start] (link, place) async throws(StoreError) in
            let stream = StorageLayout.changeStreams[place.offset]
            do throws(RedisError) {
                return try Self.entries(
                    in: try await link.redis.send(
                        start + ["STREAMS", .text(stream), .text(place.element.description)]))
            } catch { throw .redis(error) }
        }
        return parts.flatMap(\.self)
    }

    private static func entries(in reply: RedisReply) throws(RedisError) -> [Entries] {
        var streams: [Entries] = []
        for stream in reply.array ?? [] {
            guard let parts = stream.array, parts.count == 2, let entries = parts[1].array,
                let partition = parts[0].string.flatMap(StorageLayout.changeStreams.firstIndex(of:))
            else { throw RedisError(.unexpectedReply, "XREAD") }
            var found: [(StreamPosition, RedisReply)] = []
            for entry in entries {
                guard let parts = entry.array, parts.count == 2,
                    let position = parts[0].string.flatMap({ StreamPosition($0) })
                else { throw RedisError(.unexpectedReply, "XREAD") }
                found.append((position, parts[1]))
            }
            streams.append((partition, found))
        }
        return streams
    }

    /// Nil for an entry of another kind, which a newer version may write.
    private static func change(_ fields: RedisReply) -> (path: String, revision: UInt64)? {
        guard let fields = fields.array else { return nil }
        var path: String?
        var revision: UInt64?
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            switch fields[pair].string {
            case "k": path = fields[pair + 1].string
            case "r": revision = fields[pair + 1].string.flatMap { UInt64($0) }
            default: break
            }
        }
        guard let path, let revision else { return nil }
        return (path, revision)
    }

    private func continuity(
        from positions: [StreamPosition]
    ) async throws(StoreError) -> StreamExtent.Continuity {
        // First the entries: one that was trimmed in between shows in what the stream holds.
        var isThere = [Bool](repeating: false, count: positions.count)
        for stream in try await entries(after: positions.map(\.predecessor), atMost: 1) {
            isThere[stream.partition] = stream.entries.first?.0 == positions[stream.partition]
        }
        var worst = StreamExtent.Continuity.unbroken
        for (partition, extent) in try await extents().enumerated() {
            switch extent.continuity(from: positions[partition], isThere: isThere[partition]) {
            case .unbroken: break
            case .trimmed: worst = .trimmed
            case .wentBack: return .wentBack
            }
        }
        return worst
    }

    /// What each stream holds, in one round trip.
    private func extents() async throws(StoreError) -> [StreamExtent] {
        let redis = redis
        let results = await withTaskGroup(of: (Int, Result<StreamExtent, RedisError>).self) { group in
            for (partition, stream) in StorageLayout.changeStreams.enumerated() {
                group.addTask {
                    do throws(RedisError) {
                        return (
                            partition, .success(StreamExtent(try await redis.send(["XINFO", "STREAM", .text(stream)])))
                        )
                    } catch {
                        let isAbsent = error.code == .refused && error.message.hasPrefix("ERR no such key")
                        return (partition, isAbsent ? .success(StreamExtent(nil)) : .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var extents: [StreamExtent] = []
        for partition in 0..<StorageLayout.partitions {
            do throws(RedisError) {
                extents.append(try results[partition]?.get() ?? StreamExtent(nil))
            } catch {
                throw .redis(error)
            }
        }
        return extents
    }
}
