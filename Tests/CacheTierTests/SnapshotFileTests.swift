import Entitlements
import Glibc
import Runtime
import SQLite
import TestSupport
import Testing
import Time

@testable import CacheTier

/// Rows as the probe writes them: those of all batches up to one make up the file.
private func rows(ofBatch number: UInt64) -> [SnapshotRow] {
    (0..<64 as Range<UInt64>).map { place in
        let holder = (number &* 7919 &+ place &* 13) % 997
        let text = "\(number):" + String(repeating: "x", count: Int((holder &* 31 &+ number) % 1500))
        return row("\(holder)", number, text)
    }
}

private func row(_ holder: String, _ revision: UInt64, _ text: String = "1:{}") -> SnapshotRow {
    SnapshotRow(
        path: "app:p:holder:\(holder)", revision: revision,
        fields: [SnapshotRow.Field(name: "l:1", value: Array(text.utf8))])
}

private func allRows(_ file: SnapshotFile) throws -> [SnapshotFile.Found] {
    var all: [SnapshotFile.Found] = []
    while true {
        let page = try file.rows(after: all.last?.path ?? "", limit: 100)
        all += page
        if page.isEmpty { return all }
    }
}

@Suite(.timeLimit(.minutes(6))) struct SnapshotFileTests {
    private let folder: TemporaryFolder
    private let snapshot: SnapshotFolder

    init() throws {
        folder = try TemporaryFolder("snapshot")
        snapshot = SnapshotFolder(folder.file("snapshot"))
    }

    @Test func rowsAndPositionsComeBackAsTheyWereWritten() throws {
        var positions = [StreamPosition](repeating: .beginning, count: 64)
        positions[7].sequence = 42
        do {
            let file = try snapshot.open(at: day(0)).file
            try file.write([row("a", 1), row("b", UInt64.max, "2:{\"v\":1}")]) { meta in
                meta.store = "s"
                meta.positions = positions
                meta.heard = day(1)
                meta.isComplete = true
                meta.former = SnapshotMeta.Former(store: "old", positions: positions, isComplete: true, losses: 2)
            }
            try file.write([row("a", 2), SnapshotRow(path: "app:p:holder:c", revision: 3, fields: [])])
            #expect(file.meta.holders == 3)
        }
        let file = try SnapshotFile(snapshot.file, .readOnly)
        #expect(file.meta.store == "s")
        #expect(file.meta.positions == positions)
        #expect(file.meta.heard == day(1))
        #expect(file.meta.isComplete)
        #expect(
            file.meta.former
                == SnapshotMeta.Former(store: "old", positions: positions, isComplete: true, losses: 2))
        #expect(file.meta.holders == 3)
        #expect(try file.find("app:p:holder:a")?.row == row("a", 2))
        #expect(try file.find("app:p:holder:b")?.row == row("b", UInt64.max, "2:{\"v\":1}"))
        #expect(try file.find("app:p:holder:c")?.row?.fields.isEmpty == true)
        #expect(try file.find("app:p:holder:d") == nil)
        #expect(try allRows(file).map(\.path) == ["app:p:holder:a", "app:p:holder:b", "app:p:holder:c"])
    }

    @Test(
        "What a snapshot owes is written as before while there was one loss, so that old files are read",
        arguments: [true, false])
    func whatIsOwedAfterOneLossIsWrittenAsBefore(isComplete: Bool) {
        var meta = SnapshotMeta()
        meta.store = "new"
        meta.former = SnapshotMeta.Former(store: "old", positions: meta.positions, isComplete: isComplete)
        let values = Dictionary(uniqueKeysWithValues: meta.values.map { ($0.name, $0.value) })
        #expect(values["formerComplete"] == (isComplete ? "1" : "0"))
        #expect(SnapshotMeta(values) == meta)
        meta.former?.losses = 3
        let after = Dictionary(uniqueKeysWithValues: meta.values.map { ($0.name, $0.value) })
        #expect(Set(after.keys) == Set(values.keys))
        #expect(SnapshotMeta(after) == meta)
    }

    @Test func aRowOfAStoreThatIsGoneIsJoinedAndNotOverwritten() throws {
        let app = TestApp("snapshot")
        let (old, new) = (app.period("1"), app.period("2", from: 30, to: 60))
        func row(_ observations: [Observation], _ lineage: String, _ revision: UInt64) -> SnapshotRow.Field {
            let record = folded(observations, app.lineage(lineage))
            return SnapshotRow.Field(name: "l:\(lineage)", value: Array("\(revision):".utf8) + record.encoded())
        }
        let path = app.key(anna).path
        let other = app.period("9", of: app.lineage("2000"))
        let file = try snapshot.open(at: day(0)).file
        try file.write([
            SnapshotRow(path: path, revision: 9, fields: [row([old], "1000", 8), row([other], "2000", 9)])
        ])
        try file.write([SnapshotRow(path: path, revision: 1, fields: [row([new], "1000", 1)])], joining: true)
        let found = try #require(try file.find(path)?.row)
        #expect(found.revision == 1)
        let records = try found.records()
        #expect(records.map(\.lineage) == [app.lineage("1000"), app.lineage("2000")])
        #expect(records.first == folded([old, new], app.lineage("1000")))
        #expect(records.last == folded([other], app.lineage("2000")))
    }

    @Test func whatAFillDoesNotVisitIsFound() throws {
        let file = try snapshot.open(at: day(0)).file
        try file.write((0..<10).map { row("\($0)", 1) })
        try file.write([row("3", 2), row("7", 2)]) { $0.sweep += 1 }
        var unswept: [String] = []
        var place = ""
        while let last = try file.unswept(after: place, limit: 3).last {
            unswept += try file.unswept(after: place, limit: 3).paths
            place = last
        }
        let expected = [0, 1, 2, 4, 5, 6, 8, 9].map { "app:p:holder:\($0)" }
        #expect(unswept == expected)
        try file.remove(unswept)
        #expect(file.meta.holders == 2)
        #expect(try allRows(file).map(\.path) == ["app:p:holder:3", "app:p:holder:7"])
    }

    // MARK: Damage

    enum Damage: CaseIterable, CustomTestStringConvertible {
        case noDatabase, cutShort, cutToAPage, zeros, foreign, foreignOfOurFormat, newer, older, metaFlipped, metaGone

        var testDescription: String { "\(self)" }
    }

    private func fill() throws {
        let file = try snapshot.open(at: day(0)).file
        for number in 1...20 as ClosedRange<UInt64> { try file.write(rows(ofBatch: number)) }
    }

    private func sql(_ statement: String) throws {
        let connection = try SQLiteConnection(path: snapshot.file, mode: .readWrite)
        try connection.execute(statement)
        // The log into the file, so that what is done to the file is not undone by the log.
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private func overwrite(_ change: (inout [UInt8]) -> Void) throws {
        try sql("PRAGMA wal_checkpoint(TRUNCATE)")
        var bytes = try File.bytes(at: snapshot.file, limit: 64 << 20)
        change(&bytes)
        try folder.write(bytes, to: "snapshot/snapshot.db")
    }

    @Test(
        "A file that is damaged, cut, another's or a later version's is set aside and begun anew",
        arguments: Damage.allCases)
    func whatCannotBeUsedIsSetAside(damage: Damage) throws {
        try fill()
        switch damage {
        case .noDatabase: try overwrite { $0 = Array("this is no database, whatever its name says".utf8) }
        case .cutShort: try overwrite { $0.removeLast($0.count / 2) }
        case .cutToAPage: try overwrite { $0 = Array($0.prefix(4096)) }
        case .zeros: try overwrite { $0 = [UInt8](repeating: 0, count: $0.count) }
        case .foreign:
            try overwrite { $0 = [] }
            try sql("CREATE TABLE holders (path TEXT)")
        case .foreignOfOurFormat: try sql("PRAGMA application_id = 7")
        case .newer: try sql("PRAGMA user_version = 2")
        case .older: try sql("PRAGMA user_version = 0")
        case .metaFlipped: try sql("UPDATE meta SET value = '9' WHERE name = 'holders'")
        case .metaGone: try sql("DROP TABLE meta")
        }
        let opened = try snapshot.open(at: day(1))
        let aside = try #require(opened.setAside)
        #expect(aside.path == "\(snapshot.file).damaged-20250616T150640000Z")
        #expect(File.size(of: aside.path) != nil)
        #expect(opened.file.meta == SnapshotMeta())
        try opened.file.write([row("a", 1)])
        #expect(try allRows(opened.file).count == 1)
        // The next start finds it as it is.
        #expect(try snapshot.open(at: day(2)).setAside == nil)
    }

    @Test func aFileWhoseMakingWasInterruptedIsMadeAnew() throws {
        try File.makeFolder(snapshot.path)
        try folder.write([], to: "snapshot/snapshot.db")
        let opened = try snapshot.open(at: day(0))
        #expect(opened.setAside == nil)
        try opened.file.write([row("a", 1)])
        #expect(opened.file.meta.holders == 1)
    }

    @Test func ofWhatIsSetAsideTheNewestAreKept() throws {
        for number in 1...6 {
            try fill()
            try overwrite { $0 = [1, 2, 3] }
            #expect(try snapshot.open(at: day(number)).setAside != nil)
        }
        let aside = try File.names(in: snapshot.path).filter { $0.contains("damaged") }.sorted()
        #expect(aside.count == SnapshotFolder.keptAside)
        #expect(aside.last?.hasSuffix("damaged-20250621T150640000Z") == true)
    }

    @Test func aFolderThatCannotBeMadeIsAFailureAndNothingIsSetAside() throws {
        try folder.write("a file", to: "snapshot")
        do {
            _ = try snapshot.open(at: day(0))
            Issue.record("it was opened")
        } catch {
            #expect(!error.isOfTheFile)
        }
    }

    @Test("Whatever byte of the file is flipped, rows are right, missing or an error, and nothing ends the process")
    func whateverIsFlippedNothingWrongIsRead() async throws {
        try fill()
        try sql("PRAGMA wal_checkpoint(TRUNCATE)")
        let whole = try File.bytes(at: snapshot.file, limit: 64 << 20)
        var expected: [String: SnapshotRow] = [:]
        for number in 1...20 as ClosedRange<UInt64> {
            for row in rows(ofBatch: number) { expected[row.path] = row }
        }
        let (path, wanted) = (folder.file("flipped.db"), expected)
        let outcomes = try await onOwnThread {
            var outcomes: [String: Int] = [:]
            for _ in 0..<150 {
                var bytes = whole
                for _ in 0..<Int.random(in: 1...4) {
                    // Every third within the first page, where SQLite keeps what it goes by.
                    let end = Int.random(in: 0..<3) == 0 ? 4096 : bytes.count
                    bytes[Int.random(in: 0..<end)] ^= UInt8(1 << Int.random(in: 0..<8))
                }
                try File.replace(path, with: bytes)
                do {
                    let file = try SnapshotFile(path, .readOnly)
                    var last = ""
                    var pages = 0
                    while pages < 100 {
                        let page = try file.rows(after: last, limit: 100)
                        for found in page {
                            if let row = found.row, wanted[found.path] != row { outcomes["wrong", default: 0] += 1 }
                            if found.row == nil { outcomes["refused", default: 0] += 1 }
                        }
                        guard let next = page.last?.path, next > last else { break }
                        last = next
                        pages += 1
                    }
                    outcomes["read", default: 0] += 1
                } catch let failure as SnapshotFailure {
                    outcomes[failure.isOfTheFile ? "noticed at once" : "\(failure)", default: 0] += 1
                } catch let failure as SQLiteError {
                    outcomes[failure.isDamage ? "noticed later" : "\(failure)", default: 0] += 1
                }
            }
            return outcomes
        }
        #expect(outcomes["wrong"] == nil, "\(outcomes)")
        #expect((outcomes["read"] ?? 0) > 0, "\(outcomes)")
        #expect((outcomes["refused"] ?? 0) > 0, "\(outcomes)")
    }

    // MARK: Other processes

    @Test("A file is what was written up to its position, whatever moment a writer is killed at")
    func aWriterKilledAtAnyMoment() async throws {
        let probe = try ChildProcess.product("SnapshotProbe")
        var written: UInt64 = 0
        for round in 0..<10 {
            let child = try ChildProcess(probe, ["write", snapshot.path], log: folder.file("log-\(round)"))
            let size = Int.random(in: 1...600)
            let hasWritten = try await eventually { child.log.utf8.count >= size }
            await child.kill()
            #expect(hasWritten)
            // The last line may have been cut by the kill.
            let lines = child.log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let last = lines.compactMap { UInt64($0) }.last
            written = max(written, try #require(last))

            let opened = try snapshot.open(at: day(round))
            #expect(opened.setAside == nil)
            let position = opened.file.meta.positions[0].milliseconds
            #expect(position >= written)
            var expected: [String: SnapshotRow] = [:]
            for number in 1...position {
                for row in rows(ofBatch: number) { expected[row.path] = row }
            }
            let found = try allRows(opened.file)
            #expect(found.count == expected.count)
            #expect(Int64(found.count) == opened.file.meta.holders)
            let wrong = found.filter { expected[$0.path] != $0.row }
            #expect(wrong.isEmpty)
            #expect(try opened.file.structuralDamage() == [])
        }
    }

    @Test func aLimitOnFileSizesEndsWritingAndNothingElse() async throws {
        let result = try await Command.run(ChildProcess.product("SnapshotProbe"), ["limited", snapshot.path])
        #expect(result.output.hasSuffix(" taken=true same=true\n"), "\(result.output)")
        #expect(!result.output.hasPrefix("none"))
    }

    @Test func aFileThatMayNotGrowSaysThatItIsFullAndGoesOnOnceItMay() throws {
        var bounded = snapshot
        bounded.maximumPages = 40
        let file = try bounded.open(at: day(0)).file
        var number: UInt64 = 0
        var failure: SQLiteError?
        while failure == nil, number < 100 {
            number += 1
            do { try file.write(rows(ofBatch: number)) { $0.sweep = Int64(number) } } catch { failure = error }
        }
        #expect(failure?.code == .full)
        #expect(file.meta.sweep == Int64(number) - 1)
        #expect(try file.find(rows(ofBatch: number - 1)[0].path)?.row == rows(ofBatch: number - 1)[0])
        let roomy = try snapshot.open(at: day(1)).file
        try roomy.write(rows(ofBatch: number))
        #expect(try roomy.find(rows(ofBatch: number)[0].path)?.row == rows(ofBatch: number)[0])
    }

    @Test(
        "A disk that is full ends writing and nothing else",
        .enabled("needs user namespaces, to mount a small tmpfs") { await canMount() })
    func aDiskThatIsFull() async throws {
        let probe = try ChildProcess.product("SnapshotProbe")
        let result = try await Self.mounted(
            "mount -t tmpfs -o size=2m tmpfs \(folder.path) && exec \(probe) fill \(folder.path)/snapshot")
        #expect(result.output == "full taken=true same=true\n")
    }

    private static func mounted(_ script: String) async throws -> Command.Result {
        try await Command.run(
            "/usr/bin/unshare", ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script])
    }

    private static func canMount() async -> Bool {
        let result = try? await mounted("mount -t tmpfs -o size=1m tmpfs /mnt")
        return result?.status == 0
    }
}
