import Glibc
import Runtime
import TestSupport
import Testing

@testable import Gateway

/// Other processes that write a spool, killed at any moment or on a disk that has no room.
@Suite("Spool, other processes", .timeLimit(.minutes(6)))
struct SpoolCrashTests {
    @Test("Invariant 1: whatever was acknowledged before any of many kill -9 is read back, unharmed and in order")
    func killedAtRandomMoments() async throws {
        var fixture = try SpoolFixture()
        fixture.settings.maxBytes = 4 << 30
        let probe = try ChildProcess.product("SpoolProbe")
        var acknowledged: [UInt64: UInt64] = [:]
        for round in 0..<15 {
            let child = try ChildProcess(
                probe, ["append", fixture.settings.folder], log: fixture.folder.file("log-\(round)"))
            let size = Int.random(in: 1...8000)
            let hasWritten = try await eventually { child.log.utf8.count >= size }
            await child.kill()
            #expect(hasWritten)
            // What it printed was acknowledged; the last line may have been cut by the kill.
            let lines = child.log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            for line in lines {
                let parts = line.split(separator: " ").compactMap { UInt64($0) }
                try #require(parts.count == 2, "\(line)")
                #expect(acknowledged.updateValue(parts[1], forKey: parts[0]) == nil, "sequence \(parts[0]) twice")
            }
        }
        let spool = try await fixture.open()
        let entries = try await spool.readAll()
        let sequences = entries.map(\.sequence)
        #expect(sequences == sequences.sorted())
        let found = Dictionary(entries.map { ($0.sequence, $0.record) }) { first, _ in first }
        #expect(found.count == entries.count)
        for (sequence, index) in acknowledged {
            let record = found[sequence]
            #expect(record?.attributes == ["index": "\(index)"])
            #expect(record?.body == Self.body(index))
        }
        #expect(acknowledged.count > 15)
        #expect(fixture.counter("holdfast_spool_damaged_total") == 0)
        await spool.drain()
    }

    /// As the probe makes it.
    private static func body(_ index: UInt64) -> [UInt8] {
        let size = Int(index &* 7919 % 20_000)
        return (0..<size).map { UInt8(truncatingIfNeeded: index &+ UInt64($0)) }
    }

    /// The kernel itself refuses here: a limit on the size of files needs no privilege and no second file system.
    @Test func aLimitOnFileSizesIsSaidToBeFull() async throws {
        let folder = try TemporaryFolder("spool")
        let result = try await Command.run(ChildProcess.product("SpoolProbe"), ["limited", folder.file("spool")])
        #expect(result.output == "full acknowledged=0 same=true recovered=false\n")
    }

    @Test(
        "Invariant 1: on a disk that fills up, what was acknowledged stays, and room gained by draining is used",
        .enabled("needs user namespaces, to mount a small tmpfs") { await canMount() })
    func aDiskThatFillsUp() async throws {
        let folder = try TemporaryFolder("spool")
        let probe = try ChildProcess.product("SpoolProbe")
        let result = try await Self.mounted(
            "mount -t tmpfs -o size=6m tmpfs \(folder.path) && exec \(probe) fill \(folder.path)/spool")
        #expect(result.output.hasPrefix("full acknowledged="))
        #expect(result.output.hasSuffix(" same=true recovered=true\n"))
        #expect(!result.output.contains("acknowledged=0 "))
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
