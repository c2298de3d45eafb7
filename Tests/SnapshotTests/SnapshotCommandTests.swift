import Entitlements
import Glibc
import JSON
import Redis
import Runtime
import TestSupport
import Testing
import Time

@testable import CacheTier

/// `holdfast snapshot` as a script meets it.
@Suite(.timeLimit(.minutes(6))) struct SnapshotCommandTests {
    private let folder: TemporaryFolder
    private let app = AppID("demo")

    init() throws { folder = try TemporaryFolder("snapshot-command") }

    private func holdfast(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(try ChildProcess.product("holdfast"), arguments)
    }

    /// The answer, without what was told on standard error meanwhile.
    private func json(_ result: Command.Result) throws -> JSONValue {
        let line = result.output.split(separator: "\n").last { $0.hasPrefix("{") } ?? ""
        return try JSONValue.parse(Array(line.utf8))
    }

    private func lineage(_ number: Int) -> LineageID {
        LineageID(app: app, environment: .production, originalTransactionID: "\(1000 + number)")
    }

    private func key(_ number: Int) -> CustomerKey {
        CustomerKey(app: app, environment: .production, customer: "customer-\(number)")
    }

    private func period(_ number: Int, _ transaction: String, from start: Int64) -> Observation {
        let day: Int64 = 86_400_000
        let signed = Timestamp(milliseconds: 1_750_000_000_000 + start * day)
        return Observation(
            lineage: lineage(number), source: .notification, signedDate: signed,
            transaction: TransactionFact(
                transactionID: transaction, originalTransactionID: lineage(number).originalTransactionID,
                productID: "pro", signedDate: signed, purchaseDate: signed, expiresDate: signed + .seconds(30 * 86_400),
                type: "Auto-Renewable Subscription", appAccountToken: key(number).customer, ownership: "PURCHASED",
                payloadHash: transaction))
    }

    /// A snapshot of ten customers, with a period each.
    private func fill() throws -> String {
        let snapshot = SnapshotFolder(folder.file("spool/snapshot"))
        let file = try snapshot.open(at: Timestamp(milliseconds: 0)).file
        let rows = (0..<10).map { number in
            var record = LineageRecord(lineage: lineage(number))
            record.fold(period(number, "1", from: 0))
            return SnapshotRow(
                path: key(number).path, revision: 1,
                fields: [
                    SnapshotRow.Field(
                        name: StorageLayout.field(of: lineage(number)), value: Array("1:".utf8) + record.encoded())
                ])
        }
        try file.write(rows) { meta in
            meta.store = "before"
            meta.isComplete = true
            meta.heard = Timestamp(milliseconds: 1_750_000_000_000)
        }
        return snapshot.file
    }

    private func settings(redis port: Int) throws -> String {
        try folder.write(
            """
            {
                "apps": { "demo": {
                    "bundleId": "com.example.demo", "appAppleId": 1, "products": { "pro": { "entitlements": ["pro"] } }
                } },
                "keys": { "k": { "secret": "0123456789abcdef", "scopes": ["read"] } },
                "broker": { "host": "127.0.0.1", "user": "nobody", "password": "nothing" },
                "redis": { "host": "127.0.0.1", "port": \(port) },
                "spool": { "folder": "\(folder.file("spool"))" }
            }
            """, to: "holdfast.json")
    }

    @Test func aSnapshotIsShownVerifiedAndCopied() async throws {
        let path = try fill()
        let settings = try settings(redis: 1)
        let info = try await holdfast("snapshot", "info", "--json", "--settings", settings)
        #expect(info.status == 0)
        let facts = try json(info)
        #expect(facts["holders"]?.int64 == 10)
        #expect(facts["store"]?.string == "before")
        #expect(facts["complete"]?.bool == true)
        #expect(facts["heard"]?.string == "2025-06-15T15:06:40.000Z")

        let verified = try await holdfast("snapshot", "verify", "--json", "--file", path)
        #expect(verified.status == 0)
        let checkup = try json(verified)
        #expect(checkup["sound"]?.bool == true)
        #expect(checkup["lineages"]?.int64 == 10)

        let copy = folder.file("copy.db")
        #expect(try await holdfast("snapshot", "export", copy, "--file", path).status == 0)
        #expect(try await holdfast("snapshot", "verify", "--file", copy).status == 0)
        // What is there is not overwritten.
        #expect(try await holdfast("snapshot", "export", copy, "--file", path).status == 2)

        let lines = try await holdfast("snapshot", "export", "-", "--lines", "--file", copy)
        #expect(lines.status == 0)
        let customers = lines.output.split(separator: "\n").compactMap { line in
            (try? JSONValue.parse(Array(line.utf8)))?["customer"]?.string
        }
        let expected = (0..<10).map { key($0).customer }
        #expect(customers == expected)
    }

    @Test func aDamagedOneIsSaidToBe() async throws {
        let path = try fill()
        do {
            let file = try SnapshotFile(path, .create)
            // A row under another's name.
            try file.write([SnapshotRow(path: "not a holder", revision: 1, fields: [])])
        }
        let verified = try await holdfast("snapshot", "verify", "--json", "--file", path)
        #expect(verified.status == 1)
        #expect(try json(verified)["damagedRows"]?.int64 == 1)
        try folder.write("nothing of ours, and long enough to be looked at", to: "other.db")
        #expect(try await holdfast("snapshot", "info", "--file", folder.file("other.db")).status == 1)
        #expect(try await holdfast("snapshot", "info", "--file", folder.file("absent.db")).status == 1)
        #expect(try await holdfast("snapshot", "forget", "--file", path).status == 2)
    }

    @Test func theDoctorSaysHowGoodItIs() async throws {
        let settings = try settings(redis: 1)
        func line() async throws -> (status: String?, detail: String?) {
            let result = try await holdfast("doctor", "--no-network", "--json", "--settings", settings)
            let checks = try json(result)["checks"]?.array ?? []
            let check = checks.first { $0["name"]?.string == "snapshot" }
            return (check?["status"]?.string, check?["detail"]?.string)
        }
        #expect(try await line().status == "fine")
        let path = try fill()
        let old = try await line()
        #expect(old.status == "warning")
        #expect(old.detail?.hasPrefix("it was followed last ") == true)
        try folder.write("nothing of ours, and long enough to be looked at", to: "spool/snapshot/other.db")
        try File.move("\(folder.path)/spool/snapshot/other.db", to: path)
        #expect(try await line().status == "wrong")
    }

    @Test("What a snapshot has is given to Redis by merging, and what Redis knows stays")
    func whatASnapshotHasIsGivenToRedisByMerging() async throws {
        _ = try fill()
        try await RedisServer.withOwn { server in
            let settings = try settings(redis: server.port)
            let loop = try EventLoop(name: "restore-test")
            var redis = RedisSettings()
            redis.port = server.port
            let link = redis.connector(loop: loop).link("test")
            await link.start()
            let store = LineageStore(redis: link)
            // Newer than the snapshot, and known nowhere else.
            _ = try await store.apply(period(3, "2", from: 30), cause: .renewal, at: Timestamp(milliseconds: 0))
            let restored = try await holdfast("snapshot", "restore", "--json", "--settings", settings)
            #expect(restored.status == 0, "\(restored.output)")
            let report = try json(restored)
            #expect(report["lineages"]?.int64 == 10)
            #expect(report["changed"]?.int64 == 10)
            for number in 0..<10 {
                let found = try await store.find(lineage(number))
                #expect(found?.holders == [.customer(key(number).customer)])
                #expect(found?.record.transactions.map(\.transactionID) == (number == 3 ? ["1", "2"] : ["1"]))
            }
            let again = try await holdfast("snapshot", "restore", "--json", "--settings", settings)
            #expect(try json(again)["changed"]?.int64 == 0)
            await link.close()
            loop.stop()
            try await server.stop()
            #expect(try await holdfast("snapshot", "restore", "--settings", settings).status == 3)
        }
    }

    @Test func whereACopyCannotBeWrittenIsAUsageErrorThatNamesTheRemedy() async throws {
        let path = try fill()
        try folder.write("a file", to: "file")
        for target in ["", folder.file("absent/copy.db"), folder.file("file/copy.db"), folder.file("file")] {
            for options in [[], ["--lines"]] {
                let result = try await Command.run(
                    try ChildProcess.product("holdfast"), ["snapshot", "export", target, "--file", path] + options)
                #expect(result.status == 2, "\(target) \(options): \(result.output)")
                check(result.output.contains("name "))
            }
        }
        // Nothing was written there.
        #expect(try File.text(at: folder.file("file"), limit: 100) == "a file")
    }

    @Test func aCopyIsItsOwnersAlone() async throws {
        let path = try fill()
        for options in [[], ["--lines"]] {
            let target = folder.file(options.isEmpty ? "copy.db" : "copy.json")
            let result = try await Command.run(
                try ChildProcess.product("holdfast"), ["snapshot", "export", target, "--file", path] + options)
            #expect(result.status == 0, "\(result.output)")
            #expect(try FileFacts(of: target).permissions == 0o600)
        }
        let verified = try await holdfast("snapshot", "verify", "--file", folder.file("copy.db"))
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test func aPipeIsNotWaitedFor() async throws {
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for verb in ["info", "verify"] {
            let result = try await holdfast("snapshot", verb, "--file", pipe)
            #expect(result.status == 1)
            check(result.output.contains("a named pipe"))
        }
        #expect(try await holdfast("snapshot", "export", folder.file("copy.db"), "--file", pipe).status == 1)
    }

    @Test func linesOfAFileThatLacksRowsSayHowMany() async throws {
        let path = try fill()
        let whole = try await holdfast("snapshot", "export", folder.file("whole"), "--lines", "--file", path)
        #expect(whole.status == 0, "\(whole.output)")
        do {
            let file = try SnapshotFile(path, .create)
            // A row under another's name, and one that is not there.
            try file.write([SnapshotRow(path: "not a holder", revision: 1, fields: [])]) { $0.holders += 1 }
        }
        let lacking = try await holdfast("snapshot", "export", folder.file("lacking"), "--lines", "--file", path)
        #expect(lacking.status == 1)
        check(lacking.output.contains("2 of 12 rows are missing or damaged"))
        let lines = try File.text(at: folder.file("lacking"), limit: 1 << 20).split(separator: "\n")
        #expect(lines.count == 10)
    }
}
