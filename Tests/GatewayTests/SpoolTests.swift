import Glibc
import Runtime
import TestSupport
import Testing

@testable import Gateway

@Suite("Spool", .timeLimit(.minutes(6)))
struct SpoolTests {
    @Test func theChecksumIsCastagnolis() {
        #expect(CRC32C.checksum(Array("123456789".utf8)[...]) == 0xE306_9283)
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        #expect(CRC32C.checksum(bytes[500...], seed: CRC32C.checksum(bytes[..<500])) == CRC32C.checksum(bytes[...]))
    }

    @Test func recordsComeBackInOrderWithAllTheyHad() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        let records = (0..<50).map {
            SpoolRecord(attributes: ["app": "démo", "n": "\($0)", "": ""], body: .init(repeating: 7, count: $0 * 100))
        }
        for record in records { try await spool.append(record) }
        let entries = try await spool.readAll()
        #expect(entries.map(\.record) == records)
        #expect(entries.map(\.sequence) == Array(1...50))
        await spool.drain()
    }

    @Test("Invariant 1: what was acknowledged is there after the next start, and sequences go on")
    func aNewProcessGoesOn() async throws {
        let fixture = try SpoolFixture()
        let first = try await fixture.open()
        try await first.append(numbered: 0..<10)
        await first.advance(to: 5)
        await first.drain()

        let second = try await fixture.open()
        #expect(second.cursor == 5)
        #expect(second.pending == 6)
        try await second.append(numbered: 10..<12)
        let entries = try await second.readAll()
        #expect(entries.map(\.sequence) == Array(5...12))
        #expect(entries.last?.record == .numbered(11))
        await second.drain()
    }

    @Test func appendsFromManySidesShareTheDisk() async throws {
        let fixture = try SpoolFixture(segmentBytes: 1 << 20)
        let spool = try await fixture.open()
        let sequences = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for number in 0..<2000 { group.addTask { try await spool.append(.numbered(number, size: 3000)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sequences.sorted() == Array(1...2000))
        let numbers = try await spool.readAll().compactMap { $0.record.attributes["number"].flatMap { Int($0) } }
        #expect(numbers.sorted() == Array(0..<2000))
        #expect(fixture.metrics.exposition().contains("holdfast_spool_commit_seconds_count"))
        #expect(try fixture.segments().count > 4)
        await spool.drain()
    }

    @Test func drainedSegmentsLeaveTheDisk() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        try await spool.append(numbered: 0..<400, size: 10_000)
        #expect(try fixture.segments().count == 4)
        await spool.advance(to: 250)
        #expect(try fixture.segments().count == 2)
        #expect(try await spool.readAll().first?.sequence == 250)
        await spool.advance(to: 401)
        // What is left is the one that is being written.
        #expect(try fixture.segments().count == 1)
        #expect(spool.pending == 0)
        await spool.drain()
        let again = try await fixture.open()
        #expect(try fixture.segments().isEmpty)
        #expect(try await again.append(.numbered(1)) == 401)
        await again.drain()
    }

    @Test func aReaderSeesWhatIsAppendedBehindIt() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        #expect(try await spool.read(from: 1).entries.isEmpty)
        try await spool.append(numbered: 0..<3)
        let first = try await spool.read(from: 1, maxCount: 2)
        #expect(first.entries.map(\.sequence) == [1, 2])
        let second = try await spool.read(from: first.end)
        #expect(second.entries.map(\.sequence) == [3])
        #expect(try await spool.read(from: second.end).entries.isEmpty)
        try await spool.append(numbered: 3..<4)
        #expect(try await spool.read(from: second.end).entries.map(\.sequence) == [4])
        // Reading again from further back is allowed: a drainer starts over after a failure.
        #expect(try await spool.read(from: 2).entries.map(\.sequence) == [2, 3, 4])
        await spool.drain()
    }

    @Test func aSecondProcessIsToldWhoHasTheFolder() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        let error = await #expect(throws: SpoolError.self) { try await fixture.open() }
        #expect(error?.reason == "locked")
        #expect(error?.description.contains("in use by process \(getpid())") == true)
        await spool.drain()
        try await fixture.open().drain()
    }

    @Test func aFullSpoolRefusesAndTakesAgainOnceDrained() async throws {
        let fixture = try SpoolFixture(maxBytes: 2 << 20)
        let spool = try await fixture.open()
        var stored = 0
        let error = await #expect(throws: SpoolError.self) {
            while stored < 1000 {
                try await spool.append(.numbered(stored, size: 10_000))
                stored += 1
            }
        }
        #expect(error?.reason == "full")
        #expect(stored > 200)
        #expect(spool.diskBytes <= 2 << 20)
        #expect(try await spool.readAll().count == stored)
        await spool.advance(to: 150)
        try await spool.append(.numbered(stored, size: 10_000))
        #expect(try await spool.readAll().last?.record == .numbered(stored, size: 10_000))
        await spool.drain()
    }

    @Test func whatWaitsForTheDiskIsBounded() async throws {
        var fixture = try SpoolFixture()
        fixture.settings.maxWaitingBytes = 100_000
        // The disk stands still until the test lets it go.
        let (gate, open) = AsyncStream<Void>.makeStream()
        let semaphore = Gate()
        let spool = try await fixture.open(fault: { call in
            if call == .synchronize { semaphore.wait() }
            return nil
        })
        async let results: [String] = withTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do throws(SpoolError) {
                        try await spool.append(.numbered(number, size: 10_000))
                        return "stored"
                    } catch {
                        open.yield()
                        return error.reason
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for await _ in gate { break }
        semaphore.open()
        let counts = Dictionary(grouping: await results) { $0 }.mapValues(\.count)
        #expect(counts.keys.sorted() == ["congested", "stored"])
        #expect(try await spool.readAll().count == counts["stored"])
        await spool.drain()
    }

    @Test("Invariant 10: nobody waits for a disk that does not answer, and once it answers the spool goes on")
    func aDiskThatHangs() async throws {
        var fixture = try SpoolFixture()
        fixture.settings.stallLimit = .milliseconds(100)
        let gate = Gate()
        let spool = try await fixture.open(fault: { call in
            if call == .synchronize { gate.wait() }
            return nil
        })
        let reasons = await withTaskGroup(of: String.self) { group in
            for number in 0..<5 {
                group.addTask {
                    do throws(SpoolError) {
                        try await spool.append(.numbered(number))
                        return "stored"
                    } catch {
                        return error.reason
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reasons == Array(repeating: "stalled", count: 5))
        #expect(!spool.hasRoom)
        // Those that come later do not wait at all.
        let later = await #expect(throws: SpoolError.self) { try await spool.append(.numbered(6)) }
        #expect(later?.reason == "stalled")
        gate.open()
        check(
            try await eventually {
                do throws(SpoolError) {
                    try await spool.append(.numbered(7))
                    return true
                } catch {
                    return false
                }
            })
        #expect(spool.hasRoom)
        #expect(try await spool.readAll().last?.record == .numbered(7))
        await spool.drain()
    }

    @Test func aRecordLargerThanASegmentIsRefused() async throws {
        let fixture = try SpoolFixture()
        let spool = try await fixture.open()
        let error = await #expect(throws: SpoolError.self) { try await spool.append(.numbered(1, size: 2 << 20)) }
        #expect(error?.reason == "too_large")
        await spool.drain()
        let closed = await #expect(throws: SpoolError.self) { try await spool.append(.numbered(1)) }
        #expect(closed?.reason == "closed")
    }
}

/// Holds threads back until it is opened.
final class Gate: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    deinit { semaphore.deallocate() }
    func wait() {
        while sem_wait(semaphore) != 0 {}
        sem_post(semaphore)
    }
    func open() { sem_post(semaphore) }
}
