import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

@Suite("Giving back what a store lost", .timeLimit(.minutes(6))) struct SnapshotSeederTests {
    private let app = TestApp("seeder")
    private let folder: TemporaryFolder
    private let former = SnapshotMeta.Former(
        store: "gone", positions: [StreamPosition](repeating: .beginning, count: 64), isComplete: true)

    init() throws { folder = try TemporaryFolder("seeder") }

    private func holder(_ number: Int) -> String { "c-\(10_000 + number)" }

    /// The rows of a snapshot that has these holders.
    private func rows(_ name: String, _ numbers: [Int]) throws -> SnapshotSeeder.Rows {
        let file = try SnapshotFolder(folder.file(name)).open(at: day(0)).file
        try file.write(
            numbers.map { number in
                let lineage = app.lineage("\(number)")
                let record = folded([app.period(of: lineage, token: holder(number))], lineage)
                return SnapshotRow(
                    path: app.key(holder(number)).path, revision: 1,
                    fields: [
                        SnapshotRow.Field(
                            name: StorageLayout.field(of: lineage), value: Array("1:".utf8) + record.encoded())
                    ])
            })
        let path = file.path
        return { after, limit throws(SnapshotFailure) in
            try SnapshotFile(path, .readOnly).page(after: after, limit: limit)
        }
    }

    /// The same with the first row damaged.
    private func damaged(_ rows: @escaping SnapshotSeeder.Rows) -> SnapshotSeeder.Rows {
        { after, limit throws(SnapshotFailure) in
            var page = try await rows(after, limit)
            if after.isEmpty, !page.isEmpty { page[0].row = nil }
            return page
        }
    }

    private func seeder(_ redis: any RedisCommands, apps: Set<AppID>? = nil) -> SnapshotSeeder {
        SnapshotSeeder(
            redis: redis, store: LineageStore(redis: redis, rules: app.rules()), apps: apps ?? [app.id],
            rate: 1_000_000)
    }

    private func give(
        _ seeder: SnapshotSeeder, _ rows: SnapshotSeeder.Rows
    ) async throws -> SnapshotSeeder.Progress {
        guard case .done(let done) = try await seeder.run(former, count: 700, maps: [:], rows: rows) else {
            Issue.record("somebody else has the lease")
            return SnapshotSeeder.Progress()
        }
        return done
    }

    /// Ends behind the first page.
    private func interrupted(_ seeder: SnapshotSeeder, _ rows: @escaping SnapshotSeeder.Rows) async {
        do {
            _ = try await seeder.run(former, count: 700, maps: [:]) { after, limit throws(SnapshotFailure) in
                guard after.isEmpty else { throw .folder("interrupted") }
                return try await rows(after, limit)
            }
            Issue.record("it was not interrupted")
        } catch { check("\(error)".contains("interrupted"), "\(error)") }
    }

    @Test func whoWasInterruptedGoesOnWhereItStopped() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let all = try rows("all", Array(0..<700))
                let seeder = self.seeder(redis)
                await interrupted(seeder, all)
                let done = try await give(seeder, all)
                #expect(done.lineages == 700 - 256)
                #expect(done.changed == 700 - 256)
                let store = LineageStore(redis: redis)
                for number in [0, 255, 256, 699] {
                    #expect(try await store.records(of: app.key(holder(number))).count == 1)
                }
                let note = try await SeedNote.read(of: "gone", from: redis)
                #expect(note?.isComplete == true)
                #expect(note?.covers(former.positions) == true)
                // Again, it changes nothing.
                let again = try await give(seeder, all)
                #expect(again.lineages == 700)
                #expect(again.changed == 0)
            }
        }
    }

    @Test("Where one snapshot stopped another does not go on: it may have rows before that which the first lacked")
    func whereOneSnapshotStoppedAnotherDoesNotGoOn() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                await interrupted(seeder(redis), try rows("some", (0..<700).filter { $0.isMultiple(of: 2) }))
                let done = try await give(seeder(redis), try rows("all", Array(0..<700)))
                #expect(done.lineages == 700)
                let store = LineageStore(redis: redis)
                for number in [0, 1, 255, 699] {
                    #expect(try await store.records(of: app.key(holder(number))).count == 1)
                }
                #expect(try await SeedNote.read(of: "gone", from: redis)?.isComplete == true)
            }
        }
    }

    @Test func aCursorThatIsNoneMeansFromTheBeginning() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let positions = SnapshotMeta.text(former.positions)
                let some = try rows("some", Array(0..<10))
                for text in ["", "x", "\(positions)\n\(app.key(holder(5)).path)"] {
                    _ = try await redis.send([
                        "HSET", .text(StorageLayout.seedsKey), .text(SeedNote.cursorField("gone")), .text(text),
                    ])
                    let done = try await give(seeder(redis), some)
                    #expect(done.lineages == 10)
                }
            }
        }
    }

    @Test func whatLeftOutADamagedRowIsNotNotedAsComplete() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let all = try rows("all", Array(0..<700))
                let seeder = self.seeder(redis)
                // Also when it was left out before an interruption.
                await interrupted(seeder, damaged(all))
                #expect(try await give(seeder, damaged(all)).unreadable == 0)
                #expect(try await SeedNote.read(of: "gone", from: redis)?.isComplete == false)
                #expect(try await give(seeder, damaged(all)).unreadable == 1)
                #expect(try await SeedNote.read(of: "gone", from: redis)?.isComplete == false)
                // Another has it whole.
                #expect(try await give(seeder, all).changed == 1)
                #expect(try await SeedNote.read(of: "gone", from: redis)?.isComplete == true)
            }
        }
    }

    @Test func whatLeftOutRowsOfAnAppThatIsNotKnownIsNotNotedAsComplete() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let some = try rows("some", Array(0..<10))
                let done = try await give(seeder(redis, apps: [TestApp("another").id]), some)
                #expect(done.foreign == 10)
                #expect(try await SeedNote.read(of: "gone", from: redis)?.isComplete == false)
            }
        }
    }

    @Test("A rate below a page's rows is held page by page, and waiting ends when it is cancelled")
    func aLowRateIsHeldAndWaitingCanBeCancelled() async throws {
        try await RedisServer.withOwn { server in
            try await withRedis(server) { redis in
                let some = try rows("some", Array(0..<10))
                let former = former
                let slow = SnapshotSeeder(
                    redis: redis, store: LineageStore(redis: redis, rules: app.rules()), apps: [app.id], rate: 3)
                let (asked, tells) = AsyncStream.makeStream(of: Int.self)
                let task = Task {
                    _ = try await slow.run(former, count: 10, maps: [:]) { after, limit throws(SnapshotFailure) in
                        tells.yield(limit)
                        return try await some(after, limit)
                    }
                }
                var limits = asked.makeAsyncIterator()
                #expect(await limits.next() == 3)
                task.cancel()
                switch await task.result {
                case .success: Issue.record("it was not cancelled")
                case .failure(let error): #expect(error is SnapshotSeeder.Failure)
                }
            }
        }
    }

    @Test func aNoteOfOneThatLackedHoldersDoesNotMakeACompleteOneReachFurther() {
        var further = former.positions
        further[3] = StreamPosition("7-0") ?? .beginning
        let incomplete = SeedNote(positions: further, isComplete: false, finishedAt: day(2))
        let complete = SeedNote(positions: former.positions, isComplete: true, finishedAt: day(1))
        for (one, other) in [(incomplete, complete), (complete, incomplete)] {
            var note = one
            note.add(other)
            #expect(note.isComplete)
            #expect(note.covers(former.positions))
            #expect(!note.covers(further))
            #expect(note.finishedAt == day(2))
        }
    }
}
