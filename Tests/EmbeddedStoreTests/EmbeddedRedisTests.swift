import EmbeddedStore
import Redis
import Runtime
import SQLite
import TestSupport
import Testing
import Time

@Suite(.timeLimit(.minutes(6))) struct EmbeddedRedisTests {
    @Test func whatWasWrittenIsThereAfterTheNextStart() async throws {
        let folder = try TemporaryFolder("embedded")
        try await withStore(in: folder) { store in
            _ = try await send(store, "SET a 1")
            _ = try await send(store, "XADD s * k v")
        }
        try await withStore(in: folder) { store in
            let reply1 = try await send(store, "GET a")
            #expect(reply1.string == "1")
            let reply2 = try await send(store, "XLEN s")
            #expect(reply2.integer == 1)
        }
    }

    @Test func manyAtOnceShareTransactionsAndOneThatFailsFailsAlone() async throws {
        try await withStore { store in
            _ = try await send(store, "RPUSH list a")
            let failures = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        let words = number % 4 == 0 ? "HSET list f v" : "HSET h\(number) f v"
                        return await refusal { try await send(store, words) } != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(failures == 100)
            let reply3 = try await send(store, "DBSIZE")
            #expect(reply3.integer == 301)
            let reply4 = try await send(store, "LRANGE list 0 -1")
            #expect(reply4.array?.count == 1)
        }
    }

    @Test func aScriptThatFailsLeavesNothingOfWhatItDid() async throws {
        try await withStore { store in
            let script = "redis.call('SET', KEYS[1], 'x'); redis.call('HGET', KEYS[1], 'f')"
            let error = await refusal {
                try await run(store, script, keys: ["a"])
            }
            #expect(error?.message.hasPrefix("WRONGTYPE") == true)
            let reply5 = try await send(store, "GET a")
            #expect(reply5.isNull)
        }
    }

    @Test func aScriptThatNeverEndsIsEndedAndTheNextOneRuns() async throws {
        try await withStore { store in
            for source in ["while true do end", "while true do pcall(function() while true do end end) end"] {
                let error = await refusal {
                    try await run(store, source)
                }
                #expect(error?.message.contains("too long") == true)
            }
            let reply6 = try await run(store, "return 7")
            #expect(reply6.integer == 7)
        }
    }

    @Test func aScriptThatTakesAllMemoryIsEndedAndTheNextOneRuns() async throws {
        try await withStore { store in
            for source in [
                "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(100000) .. i end",
                "local s = 'x' while true do s = s .. s end",
                "local t = {} t[1] = t return t",
                "return redis.call(unpack({'SET', 'a', ('x'):rep(60000000)}))",
            ] {
                let error = await refusal {
                    try await run(store, source)
                }
                if !source.contains("SET") { #expect(error != nil) }
            }
            let reply7 = try await run(store, "return 7")
            #expect(reply7.integer == 7)
        }
    }

    @Test func aReadThatWaitsIsWokenByAWriteOfThisProcessAndOfAnother() async throws {
        let folder = try TemporaryFolder("embedded")
        try await withStore(in: folder) { store in
            // A second opening of the file is as strange to the first as another process.
            try await withStore(in: folder) { other in
                for (number, writer) in [store, other].enumerated() {
                    async let entry = store.send(["XREAD", "BLOCK", "50000", "STREAMS", "s", "$"])
                    // Whoever reads from the end sees only what comes after it began to wait.
                    try await Task.sleep(for: .milliseconds(20))
                    let sent = Task {
                        while !Task.isCancelled {
                            _ = try await writer.send(["XADD", "s", "*", "k", "\(number)"])
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                    let reply = try await entry
                    sent.cancel()
                    _ = await sent.result
                    let fields = reply.array?.first?.array?.last?.array?.first?.array?.last?.array
                    #expect(fields?.last?.string == "\(number)")
                }
            }
        }
    }

    @Test func aReadThatWaitsInVainIsAnsweredWithNothing() async throws {
        try await withStore { store in
            let reply8 = try await send(store, "XREAD BLOCK 30 STREAMS s 0")
            #expect(reply8.isNull)
        }
    }

    @Test func whoeverWaitsIsToldWhenTheStoreCloses() async throws {
        let folder = try TemporaryFolder("embedded")
        let store = try EmbeddedRedis(settings: EmbeddedStoreSettings(path: folder.file("store.db")))
        try await store.start()
        let waiting = Task {
            await refusal { try await send(store, "XREAD BLOCK 0 STREAMS s 0") }
        }
        await store.drain()
        let waited = await waiting.value
        #expect(waited?.code == .closed)
        let late = await refusal { try await send(store, "GET a") }
        #expect(late?.code == .closed)
    }

    @Test func aLinkThatIsClosedGivesUpItsOwnWaitingOnly() async throws {
        try await withStore { store in
            let (mine, other) = (store.connector.link("mine"), store.connector.link("other"))
            #expect(mine.isConnected)
            let waiting = Task { await refusal { try await send(mine, "XREAD BLOCK 0 STREAMS s 0") } }
            async let entry = send(other, "XREAD BLOCK 50000 STREAMS s 0")
            await mine.close()
            let refused = await waiting.value
            #expect(refused?.code == .closed)
            #expect(!mine.isConnected)
            _ = try await send(store, "XADD s 1-0 k v")
            let reply = try await entry
            #expect(reply.array?.count == 1)
        }
    }

    @Test func keysExpireByTheClock() async throws {
        let instant = Metrics().gauge("now", "")
        instant.set(1_000_000)
        let clock = WallClock { Timestamp(milliseconds: Int64(instant.value)) }
        try await withStore(clock: clock) { store in
            _ = try await send(store, "SET a 1 PX 500")
            _ = try await send(store, "HSET h f v")
            let reply9 = try await send(store, "PEXPIRE h 2000")
            #expect(reply9.integer == 1)
            let reply10 = try await send(store, "PTTL a")
            #expect(reply10.integer == 500)
            instant.set(1_000_500)
            let reply11 = try await send(store, "GET a")
            #expect(reply11.isNull)
            let reply12 = try await send(store, "SET a 2 NX")
            #expect(reply12.string == "OK")
            let reply13 = try await send(store, "PTTL a")
            #expect(reply13.integer == -1)
            let reply14 = try await send(store, "HGET h f")
            #expect(reply14.string == "v")
            instant.set(1_002_000)
            let reply15 = try await send(store, "HGETALL h")
            #expect(reply15.array == [])
            let reply16 = try await send(store, "HSET h g w")
            #expect(reply16.integer == 1)
            let reply17 = try await send(store, "HLEN h")
            #expect(reply17.integer == 1)
        }
    }

    @Test func aScanGivesEveryKeyOnceAlsoWhenTheProcessBeginsAnew() async throws {
        let folder = try TemporaryFolder("embedded")
        var seen: [String] = []
        var cursor = "0"
        try await withStore(in: folder) { store in
            for number in 0..<300 { _ = try await send(store, "SET key:\(number) v") }
            _ = try await send(store, "HSET other f v")
        }
        repeat {
            let from = cursor
            let parts = try await withStore(in: folder) { store in
                try await send(store, "SCAN \(from) MATCH key:* COUNT 70 TYPE string").array ?? []
            }
            cursor = parts.first?.string ?? "0"
            seen += (parts.last?.array ?? []).compactMap(\.string)
            #expect(UInt64(cursor) != nil)
        } while cursor != "0"
        #expect(seen.count == 300)
        #expect(Set(seen).count == 300)
    }

    @Test func aStreamKeepsAboutAsManyEntriesAsItMayAndCountsAll() async throws {
        try await withStore { store in
            for _ in 0..<350 { _ = try await send(store, "XADD s MAXLEN ~ 100 * k v") }
            let length = try await send(store, "XLEN s").integer ?? 0
            #expect(length >= 100 && length < 200)
            let info = try await send(store, "XINFO STREAM s").array ?? []
            let place = info.firstIndex { $0.string == "entries-added" }
            let added = place.map { info[$0 + 1].integer }
            #expect(added == 350)
        }
    }

    @Test func aFullStoreRefusesWritesAsAFullRedisDoesAndStillReads() async throws {
        let folder = try TemporaryFolder("embedded")
        try await withStore(in: folder) {
            $0.maximumBytes = 300_000
        } _: { store in
            let body = String(repeating: "x", count: 10_000)
            var failure: RedisError?
            var written = 0
            while failure == nil, written < 200 {
                failure = await refusal {
                    try await store.send(["SET", .text("k\(written)"), .text(body)])
                }
                if failure == nil { written += 1 }
            }
            #expect(failure?.message.hasPrefix("OOM") == true)
            #expect(failure?.isRetryable == true)
            #expect(written > 3)
            let reply18 = try await send(store, "GET k0")
            #expect(reply18.string == body)
            // What is let go of makes room.
            _ = try await send(store, "DEL k0 k1 k2")
            let late = await refusal { try await send(store, "SET small v") }
            #expect(late == nil)
        }
    }

    @Test func aDamagedFileIsRefusedWithWhatHelpsAndLeftAsItIs() async throws {
        let folder = try TemporaryFolder("embedded")
        try await withStore(in: folder) { store in
            for number in 0..<200 {
                _ = try await store.send(["SET", "k\(number)", .text(String(repeating: "x", count: 500))])
            }
        }
        var bytes = try File.regularBytes(at: folder.file("store.db"))
        for place in stride(from: 4096 * 3, to: bytes.count, by: 7) { bytes[place] = 0xa5 }
        try folder.write(bytes, to: "store.db")
        let error = await failure(in: folder)
        guard case .damaged(_, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect("\(error ?? .newer(path: "", version: 0))".contains("holdfast replay --apply"))
        #expect(try File.regularBytes(at: folder.file("store.db")) == bytes)
    }

    @Test func filesOfOthersAndOfNewerVersionsAreRefused() async throws {
        let folder = try TemporaryFolder("embedded")
        try folder.write(String(repeating: "no database at all ", count: 500), to: "store.db")
        guard case .foreign? = await failure(in: folder) else {
            Issue.record("text was taken for a store")
            return
        }
        let other = try TemporaryFolder("embedded")
        try SQLiteConnection(path: other.file("store.db"), mode: .create).execute("CREATE TABLE mine (a)")
        guard case .foreign? = await failure(in: other) else {
            Issue.record("another program's database was taken for a store")
            return
        }
        let newer = try TemporaryFolder("embedded")
        try await withStore(in: newer) { _ in }
        try SQLiteConnection(path: newer.file("store.db"), mode: .readWrite).execute("PRAGMA user_version = 2")
        guard case .newer(_, version: 2)? = await failure(in: newer) else {
            Issue.record("a newer store was opened")
            return
        }
    }

    private func failure(in folder: TemporaryFolder) async -> EmbeddedStoreError? {
        do {
            try await withStore(in: folder) { _ in }
            return nil
        } catch { return error as? EmbeddedStoreError }
    }
}
