package import Entitlements
package import Redis
package import Runtime

/// Keeps every lineage in Redis, with the one holder its facts name.
///
/// Applying is idempotent and order-free, and any number of processes may do it at once. A lineage moves between holders
/// in steps, each a compare-and-set on one partition:
///
/// 1. *intend*: the locator notes that the new holder may have a copy;
/// 2. *write* the record to the new holder, always, so that whoever saw less is refused;
/// 3. *hand*: the locator names the new holder, and notes that the old one has a copy;
/// 4. *remove* the copies from holders that are noted and not the holder;
/// 5. *forget* them.
///
/// So wherever it stops, the locator knows everybody who may have a copy. Applying any observation of the lineage again
/// merges all copies, which loses nothing, and goes through the steps that are left. Between 2 and 4 two holders have the
/// lineage: a payer is not left without one for a moment.
package struct LineageStore: Sendable {
    private let redis: any RedisCommands
    private let settings: StoreSettings
    private let layout: LayoutGuard
    private let metrics: StoreMetrics

    package init(redis: any RedisCommands, settings: StoreSettings = StoreSettings(), metrics: Metrics = Metrics()) {
        self.redis = redis
        self.settings = settings
        self.metrics = StoreMetrics(metrics)
        layout = LayoutGuard(redis: redis)
    }

    /// Founds the store in an empty Redis, and sees whether Redis takes writes, which being connected does not say: it may
    /// be full, a replica, or without its disk. Throws when Redis holds a store of another layout.
    package func prepare() async throws(StoreError) {
        try await layout.verify()
        do { _ = try await redis.send(["SET", .text(StorageLayout.probeKey), "1"]) } catch { throw .redis(error) }
    }

    /// Takes in one observation. After it returns, Redis has it on disk (given `appendfsync always`).
    package func apply(_ observation: Observation) async throws(StoreError) -> AppliedChange {
        try await layout.verify()
        let lineage = StoredLineageKeys(observation.lineage)
        for attempt in 0..<settings.applyAttempts {
            if let change = try await attemptToApply(observation, lineage) {
                (change.changed ? metrics.changed : metrics.unchanged).increment()
                return change
            }
            metrics.conflicts.increment()
            await pause(afterAttempt: attempt)
        }
        metrics.contended.increment()
        throw .contended
    }

    /// Every conflict means that somebody else got on, so it is tried again at once first.
    private func pause(afterAttempt attempt: Int) async {
        guard attempt >= 2 else { return }
        // Cancellation cuts the pause short, and the next command will say what it thinks of it.
        try? await Task.sleep(for: .milliseconds(Int.random(in: 1...min(32, 1 << min(attempt, 5)))))
    }

    /// Nil when something changed in between.
    private func attemptToApply(
        _ observation: Observation, _ lineage: StoredLineageKeys
    ) async throws(StoreError) -> AppliedChange? {
        let locator = try await readLocator(lineage)
        var copies: [Holder: Copy] = [:]
        for holder in locator.holders { copies[holder] = try await readCopy(lineage, holder) }
        let before = copies.values.compactMap(\.record).reduce(nil) { $0?.merging($1) ?? $1 }
        var record = before ?? LineageRecord(lineage: observation.lineage)
        record.fold(observation)
        var target = Holder(of: record)
        var leftovers = locator.copies
        while copies[target] == nil {
            let copy = try await readCopy(lineage, target)
            copies[target] = copy
            // Unknown to the locator, so it should not be; but what is there must not be lost.
            if let stray = copy.record {
                leftovers[target] = 0
                record.merge(stray)
                target = Holder(of: record)
            }
        }
        guard let there = copies[target] else { return nil }

        var revision = there.revision
        var changed = false
        if locator.holder == target {
            if there.record != record {
                guard let written = try await write(record, lineage, target, over: there) else { return nil }
                (revision, changed) = (written, true)
            }
        } else if before == nil && record == LineageRecord(lineage: observation.lineage) {
            // Nothing is known of it and nothing was learnt: no reason to store an empty record.
        } else {
            guard try await locate(StoreScripts.intend, lineage, locator.holder, target) != nil,
                let written = try await write(record, lineage, target, over: there),
                let number = try await locate(StoreScripts.hand, lineage, locator.holder, target)
            else { return nil }
            (revision, changed) = (written, true)
            leftovers[target] = nil
            if let old = locator.holder { leftovers[old] = number }
        }
        for (holder, number) in leftovers where holder != target {
            guard let copy = copies[holder], try await write(nil, lineage, holder, over: copy) != nil else {
                return nil
            }
            try await forget(lineage, holder, number)
            changed = true
        }
        return AppliedChange(
            changed: changed, holder: target, previousHolder: locator.holder == target ? nil : locator.holder,
            revision: revision, before: before, after: record)
    }

    // MARK: Reading

    /// All lineages of a customer; none for a customer nobody knows.
    package func records(of key: CustomerKey) async throws(StoreError) -> [LineageRecord] {
        try await layout.verify()
        return try await CustomerReader(redis: redis).read(key).records
    }

    /// Who has a lineage, and its record; nil for one that nobody has heard of.
    package func find(_ id: LineageID) async throws(StoreError) -> (holder: Holder, record: LineageRecord)? {
        try await layout.verify()
        let lineage = StoredLineageKeys(id)
        let locator = try await readLocator(lineage)
        guard let holder = locator.holder else { return nil }
        var record: LineageRecord?
        for holder in locator.holders {
            guard let copy = try await readCopy(lineage, holder).record else { continue }
            record = record?.merging(copy) ?? copy
        }
        return record.map { (holder, $0) }
    }

    // MARK: Steps

    private struct Locator {
        var holder: Holder?
        /// Who else may have a copy, with the number by which it is forgotten.
        var copies: [Holder: UInt64] = [:]

        var holders: Set<Holder> { Set(copies.keys).union(holder.map { [$0] } ?? []) }
    }

    private struct Copy {
        /// What `StoreScripts.write` wants to hear.
        var seen: String
        /// The holder's revision.
        var revision: UInt64
        var record: LineageRecord?
    }

    private func readLocator(_ lineage: StoredLineageKeys) async throws(StoreError) -> Locator {
        let fields = try await send("HGETALL", lineage.locator).array ?? []
        var locator = Locator()
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let name = fields[pair].string, let value = fields[pair + 1].string else { continue }
            if name == "holder" {
                locator.holder = Holder(id: value)
            } else if name.hasPrefix("copy:"), let holder = Holder(id: String(name.dropFirst(5))) {
                locator.copies[holder] = UInt64(value) ?? 0
            }
        }
        return locator
    }

    private func readCopy(_ lineage: StoredLineageKeys, _ holder: Holder) async throws(StoreError) -> Copy {
        let path = holder.path(lineage.id.app, lineage.id.environment)
        let key = StorageLayout.key(path)
        let reply = try await send("HMGET", key, ["rev", .text(lineage.field)])
        guard let values = reply.array, values.count == 2 else {
            throw .redis(RedisError(.unexpectedReply, "HMGET \(key)"))
        }
        let revision = values[0].string ?? "0"
        guard let stored = values[1].bytes else {
            return Copy(seen: "absent \(revision)", revision: UInt64(revision) ?? 0, record: nil)
        }
        let found = try StoredLineage.decode(stored, lineage: lineage.id, key: "\(key) \(lineage.field)")
        return Copy(seen: "\(found.revision)", revision: UInt64(revision) ?? 0, record: found.record)
    }

    /// Writes or, with nil, removes; returns the holder's new revision, or nil when the holder's copy is not as seen.
    private func write(
        _ record: LineageRecord?, _ lineage: StoredLineageKeys, _ holder: Holder, over copy: Copy
    ) async throws(StoreError) -> UInt64? {
        let path = holder.path(lineage.id.app, lineage.id.environment)
        return try await evaluate(
            StoreScripts.write, keys: [StorageLayout.key(path), StorageLayout.changeStream(ofPath: path)],
            arguments: [
                .text(lineage.field), .text(copy.seen), .bytes(record?.encoded() ?? []), .text(path),
                RedisArgument(settings.changesKept),
            ])
    }

    private func locate(
        _ script: RedisScript, _ lineage: StoredLineageKeys, _ seen: Holder?, _ target: Holder
    ) async throws(StoreError) -> UInt64? {
        try await evaluate(script, keys: [lineage.locator], arguments: [.text(seen?.id ?? ""), .text(target.id)])
    }

    private func forget(
        _ lineage: StoredLineageKeys, _ holder: Holder, _ number: UInt64
    ) async throws(StoreError) {
        // One that was noted anew since is somebody else's to remove.
        _ = try await evaluate(
            StoreScripts.forget, keys: [lineage.locator], arguments: [.text(holder.id), RedisArgument(number)])
    }

    private func send(
        _ command: RedisArgument, _ key: String, _ rest: [RedisArgument] = []
    ) async throws(StoreError) -> RedisReply {
        do { return try await redis.send([command, .text(key)] + rest) } catch {
            if error.isWrongType { throw .unreadable(key: key, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
    }

    private func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(StoreError) -> UInt64? {
        let reply: RedisReply
        do { reply = try await redis.evaluate(script, keys: keys, arguments: arguments) } catch { throw .redis(error) }
        guard let number = reply.integer else { throw .redis(RedisError(.unexpectedReply, "\(reply)")) }
        return number > 0 ? UInt64(number) : nil
    }
}

/// The names under which a lineage is stored, made once.
struct StoredLineageKeys: Sendable {
    let id: LineageID
    let locator: String
    let field: String

    init(_ id: LineageID) {
        self.id = id
        locator = StorageLayout.locator(of: id)
        field = StorageLayout.field(of: id)
    }
}
