import Glibc
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite("Spool, damaged", .timeLimit(.minutes(6)))
struct SpoolDamageTests {
    /// Where each record begins, by its header.
    private func starts(_ fixture: SpoolFixture, _ path: String) throws -> [Int] {
        let bytes = try fixture.bytes(of: path)
        return stride(from: 0, to: bytes.count - 32, by: 8).filter {
            bytes[$0...].littleEndian(UInt32.self, at: 0) == SpoolFormat.magic
        }
    }

    private func numbers(_ entries: [SpoolEntry]) -> [Int] {
        entries.compactMap { $0.record.attributes["number"].flatMap { Int($0) } }
    }

    @Test("Invariant 1: a write torn at any byte is cut off and costs nothing that was acknowledged")
    func aTornTailIsCut() async throws {
        // The last record of three, cut at each of many places.
        for kept in stride(from: 0, through: 549, by: 9) {
            let fixture = try SpoolFixture()
            let spool = try await fixture.open()
            try await spool.append(numbered: 0..<3)
            await spool.drain()
            let segment = try #require(fixture.segments().first)
            let last = try #require(starts(fixture, segment).last)
            try fixture.truncate(segment, to: last + kept)
            // As after a crash: preallocated zeros behind it.
            try fixture.truncate(segment, to: 1 << 20)

            let again = try await fixture.open()
            let whole = kept >= 32 + 515
            #expect(numbers(try await again.readAll()) == (whole ? [0, 1, 2] : [0, 1]), "cut at \(kept)")
            let sequence = try await again.append(.numbered(9))
            #expect(sequence > 2)
            #expect(numbers(try await again.readAll()).last == 9)
            await again.drain()
        }
    }

    @Test func aTornTailIsCountedOnce() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<3)
        await spool.drain()
        let segment = try #require(fixture.segments().first)
        try fixture.truncate(segment, to: fixture.bytes(of: segment).count - 100)
        try await fixture.open().drain()
        #expect(fixture.counter("holdfast_spool_torn_tails_total") == 1)
        try await fixture.open().drain()
        #expect(fixture.counter("holdfast_spool_torn_tails_total") == 1)
        #expect(fixture.counter("holdfast_spool_damaged_total") == 0)
    }

    @Test(
        "Invariant 2: a damaged record is set aside and counted, and nothing behind it is lost", arguments: [0, 1, 5])
    func damageInTheMiddle(_ victim: Int) async throws {
        for place in [0, 4, 9, 17, 25, 40, 300] {
            let fixture = try SpoolFixture()
            let spool = try await fixture.open()
            try await spool.append(numbered: 0..<10)
            await spool.drain()
            let segment = try #require(fixture.segments().first)
            let start = try starts(fixture, segment)[victim]
            let old = try fixture.bytes(of: segment)[start + place]
            try fixture.overwrite(segment, at: start + place, with: [old ^ 0xA5])

            let again = try await fixture.open()
            let entries = try await again.readAll()
            check(numbers(entries) == (0..<10).filter { $0 != victim }, "byte \(place)")
            #expect(fixture.counter("holdfast_spool_damaged_total") == 1)
            let name = segment.split(separator: "/").last ?? ""
            let copy = try fixture.bytes(of: "\(fixture.settings.folder)/damaged/\(name)-\(start)")
            #expect(copy == Array(try fixture.bytes(of: segment)[start..<start + copy.count]))
            #expect(copy.count == SpoolFormat.recordSize(payload: 500 + 15))
            await again.advance(to: 11)
            #expect(again.pending == 0)
            await again.drain()
        }
    }

    @Test func aZeroedPageIsSkippedToo() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<100)
        await spool.drain()
        let segment = try #require(fixture.segments().first)
        try fixture.overwrite(segment, at: 8192, with: [UInt8](repeating: 0, count: 8192))
        let again = try await fixture.open()
        let found = numbers(try await again.readAll())
        #expect(found.first == 0)
        #expect(found.last == 99)
        #expect(found.count < 100 && found.count > 75)
        #expect(fixture.counter("holdfast_spool_damaged_total") == 1)
        await again.drain()
    }

    @Test func aBodyThatLooksLikeARecordIsNotTakenForOne() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        var forged: [UInt8] = []
        SpoolFormat.encode(
            [66], attributes: SpoolRecord(attributes: ["number": "666"], body: []).encodedAttributes(), sequence: 2,
            salt: 0, to: &forged)
        let padding = [UInt8](repeating: 0, count: 7)
        for shift in 0..<8 {
            try await spool.append(SpoolRecord(body: Array(padding[..<min(shift, padding.count)]) + forged))
        }
        try await spool.append(.numbered(7))
        await spool.drain()
        let segment = try #require(fixture.segments().first)
        // The header of the first record is gone, so the reader looks for the next one inside its body too.
        try fixture.overwrite(segment, at: 0, with: [0, 0, 0, 0])
        let again = try await fixture.open()
        #expect(numbers(try await again.readAll()) == [7])
        await again.drain()
    }

    @Test func aDamagedEndOfAnOlderSegmentIsReported() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<150, size: 10_000)
        await spool.drain()
        let first = try #require(fixture.segments().first)
        let last = try #require(starts(fixture, first).last)
        try fixture.overwrite(first, at: last, with: [1])
        let again = try await fixture.open()
        let lost = try starts(fixture, first).count
        check(numbers(try await again.readAll()) == (0..<150).filter { $0 != lost })
        #expect(fixture.counter("holdfast_spool_damaged_total") == 1)
        await again.drain()
    }

    @Test func aLostCursorCostsDuplicatesOnly() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<10)
        await spool.advance(to: 3)
        await spool.advance(to: 6)
        await spool.drain()
        let cursor = "\(fixture.settings.folder)/cursor"
        // The newer of two slots torn: the older one counts.
        try fixture.overwrite(cursor, at: 8, with: [9])
        let second = try await fixture.open()
        #expect(second.cursor == 3)
        await second.drain()
        try fixture.truncate(cursor, to: 0)
        let third = try await fixture.open()
        #expect(numbers(try await third.readAll()) == Array(0..<10))
        #expect(try await third.append(.numbered(10)) == 11)
        await third.drain()
    }

    @Test("Invariant 1: what else lies in the folder, whatever its name, costs nothing that was acknowledged")
    func foreignFilesAreNobodysBusiness() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<10)
        await spool.drain()
        let folder = fixture.settings.folder
        for name in [
            "notes", "x.spool1", "00000000000000000000-00000000.spool1", "18446744073709551615-00000000.spool1",
        ] {
            _ = try DiskFile("\(folder)/\(name)", O_RDWR | O_CREAT)
        }
        try SpoolFolder.makeFolder("\(folder)/00000000000000000005-00000000.spool1")
        try #require(symlink("/nonexistent", "\(folder)/00000000000000000006-00000000.spool1") == 0)

        let second = try await fixture.open()
        try await second.append(numbered: 10..<12)
        #expect(numbers(try await second.readAll()) == Array(0..<12))
        #expect(second.pending == 12)
        await second.drain()
    }

    @Test("Invariant 1: after a failed sync nothing of the group is acknowledged and the segment takes no more")
    func aFailedSyncIsNotTriedAgain() async throws {
        let fixture = try SpoolFixture()
        let failing = Mutex(false)
        let calls = Mutex<[DiskCall]>([])
        let spool = try await fixture.open(fault: { call in
            calls.withLock { $0.append(call) }
            return failing.withLock { $0 } && call == .synchronize ? EIO : nil
        })
        try await spool.append(numbered: 0..<3)
        let before = try fixture.segments()
        failing.withLock { $0 = true }
        calls.withLock { $0 = [] }
        let error = await #expect(throws: SpoolError.self) { try await spool.append(.numbered(3)) }
        #expect(error?.reason == "disk")
        check(calls.withLock { $0 } == [.write, .synchronize])
        failing.withLock { $0 = false }
        calls.withLock { $0 = [] }
        let sequence = try await spool.append(.numbered(4))
        // A new file, not the same pages again.
        check(calls.withLock { $0 } == [.allocate, .write, .synchronize])
        #expect(sequence == 5)
        #expect(try fixture.segments().count == before.count + 1)
        #expect(numbers(try await spool.readAll()) == [0, 1, 2, 4])
        await spool.advance(to: 6)
        #expect(spool.pending == 0)
        await spool.drain()
        let again = try await fixture.open()
        #expect(try await again.readAll().isEmpty)
        await again.drain()
    }

    @Test(arguments: [DiskCall.allocate, .write, .synchronize])
    func aDiskWithoutRoomIsSaidToBeFull(_ refusing: DiskCall) async throws {
        let fixture = try SpoolFixture()
        let room = Mutex(false)
        let spool = try await fixture.open(fault: { call in
            !room.withLock { $0 } && call == refusing ? ENOSPC : nil
        })
        for _ in 0..<3 {
            let error = await #expect(throws: SpoolError.self) { try await spool.append(.numbered(0)) }
            #expect(error?.reason == "full")
        }
        #expect(try fixture.segments().isEmpty)
        room.withLock { $0 = true }
        try await spool.append(.numbered(1))
        #expect(numbers(try await spool.readAll()) == [1])
        await spool.drain()
    }
}
