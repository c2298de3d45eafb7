import Entitlements
import Glibc
import Redis
import Runtime
import Synchronization
import Time

@testable import CacheTier

/// How long a change takes from Redis' reply to its writer until memory and the disk have it.
struct FeedLag {
    let folder: String
    let port: Int
    let rate: Int
    let seconds: Int

    private static let customers = 20_000
    private static let watched = 200

    func measure() async throws {
        var settings = RedisSettings()
        settings.port = port
        let connector = settings.connector(loop: try EventLoop(name: "cache"))
        let snapshot = try Snapshot(
            settings: SnapshotSettings(folder: folder), redis: connector, metrics: Metrics(), log: .discarding)
        let cache = EntitlementCache(
            settings: CacheSettings(), redis: connector, rules: [SnapshotBenchmark.app: AppRules()],
            snapshot: snapshot, metrics: Metrics(), log: .discarding)
        let writers = settings.connector(loop: try EventLoop(name: "writers")).link("writers")
        await writers.start()
        await cache.start()
        for number in 0..<Self.customers { try await change(number, 1, writers) }
        let now = Timestamp(milliseconds: 1_796_000_000_000)
        for number in 0..<Self.watched { _ = try await cache.load(SnapshotBenchmark.key(number), at: now) }
        while snapshot.state.now.meta?.isComplete != true { try await Task.sleep(for: .milliseconds(50)) }

        let began = ContinuousClock.now
        let done = Mutex(0)
        let load = Task {
            var sent = 0
            while !Task.isCancelled {
                let due = Int((ContinuousClock.now - began) / .seconds(1) * Double(rate))
                guard sent < due else {
                    try await Task.sleep(for: .milliseconds(1))
                    continue
                }
                let count = min(due - sent, 256)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<count {
                        let number = Int.random(in: Self.watched..<Self.customers)
                        group.addTask { try await change(number, 2, writers) }
                    }
                    try await group.waitForAll()
                }
                sent += count
                done.withLock { $0 = sent }
            }
        }
        var (memory, disk): ([Duration], [Duration]) = ([], [])
        var revisions = [UInt64](repeating: 1, count: Self.watched)
        while .now - began < .seconds(seconds) {
            let number = Int.random(in: 0..<Self.watched)
            revisions[number] += 1
            let (revision, key) = (revisions[number], SnapshotBenchmark.key(number))
            try await change(number, revision, writers)
            let written = ContinuousClock.now
            var (isInMemory, isOnDisk) = (false, false)
            while !(isInMemory && isOnDisk) {
                if !isInMemory, cache.answer(for: key, at: now)?.revision ?? 0 >= revision {
                    memory.append(.now - written)
                    isInMemory = true
                }
                if !isOnDisk, try await snapshot.reader.find(key.path)?.row?.revision ?? 0 >= revision {
                    disk.append(.now - written)
                    isOnDisk = true
                }
                guard .now - written < .seconds(30) else { throw Failure("a change did not arrive") }
                try await Task.sleep(for: .microseconds(300))
            }
        }
        let elapsed = (.now - began) / .seconds(1)
        load.cancel()
        _ = await load.result
        await cache.drain()
        await writers.close()
        print(
            "following \(Int(Double(done.withLock { $0 }) / elapsed)) changes a second (\(rate) wanted), \(memory.count) looked at"
        )
        print("  in memory after  p50 \(percentile(memory, 50)) ms, p99 \(percentile(memory, 99)) ms")
        print("  on the disk      p50 \(percentile(disk, 50)) ms, p99 \(percentile(disk, 99)) ms")
    }

    /// One change as a consumer writes it.
    private func change(_ number: Int, _ revision: UInt64, _ redis: any RedisLink) async throws {
        let key = SnapshotBenchmark.key(number)
        let lineage = LineageID(
            app: SnapshotBenchmark.app, environment: .production, originalTransactionID: "2000000\(number)")
        let names = StoredLineageKeys(lineage)
        let record = Array(SnapshotBenchmark.record(number).drop { $0 != UInt8(ascii: ":") }.dropFirst())
        let stored = try await redis.send(["HGET", .text(StorageLayout.key(key.path)), .text(names.field)])
        let seen = stored.string.map { String($0.prefix { $0 != ":" }) } ?? "absent 0"
        _ = try await redis.evaluate(
            StoreScripts.write,
            keys: [
                StorageLayout.key(key.path), StorageLayout.changeStream(ofPath: key.path),
                names.history(.customer(key.customer)),
            ],
            arguments: [
                .text(names.field), .text(seen), .bytes(record), .text(key.path), 10_000, "append", 100,
            ])
    }

    private func percentile(_ values: [Duration], _ percent: Int) -> String {
        guard !values.isEmpty else { return "-" }
        let sorted = values.sorted()
        return SnapshotBenchmark.milliseconds(sorted[min(sorted.count - 1, sorted.count * percent / 100)])
    }
}
