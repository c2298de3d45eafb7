import Gateway
import Glibc
import Runtime
import Synchronization

/// A process for the spool's tests to kill or to starve of disk.
@main
enum SpoolProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(2) }
        let settings = SpoolSettings(folder: arguments[2], segmentBytes: 1 << 20)
        switch arguments[1] {
        case "append": try await append(settings)
        case "fill": try await fill(settings)
        case "limited":
            var limit = rlimit(rlim_cur: 600_000, rlim_max: 600_000)
            signal(SIGXFSZ, SIG_IGN)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(3) }
            try await fill(settings)
        default: exit(2)
        }
    }

    /// The body that belongs to `index`, so that a reader can tell a wrong one.
    static func body(_ index: UInt64) -> [UInt8] {
        let size = Int(index &* 7919 % 20_000)
        return (0..<size).map { UInt8(truncatingIfNeeded: index &+ UInt64($0)) }
    }

    /// Appends for ever from sixteen sides, and prints sequence and index of each record once it is acknowledged.
    private static func append(_ settings: SpoolSettings) async throws {
        // A disk that takes its time, so that a kill finds writes that were asked for and not yet done.
        let slow: DiskFault = { call in
            if call == .write { usleep(.random(in: 0...2000)) }
            return nil
        }
        let spool = try Spool(settings: settings, metrics: Metrics(), log: .discarding, fault: slow)
        try await spool.start()
        let start = UInt64.random(in: 0...(1 << 40))
        try await withThrowingTaskGroup { group in
            for side in 0..<16 as Range<UInt64> {
                group.addTask {
                    var index = start + side
                    while true {
                        let record = SpoolRecord(attributes: ["index": "\(index)"], body: body(index))
                        let sequence = try await spool.append(record)
                        let line = Array("\(sequence) \(index)\n".utf8)
                        guard write(1, line, line.count) == line.count else { return }
                        index += 16
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Appends until the spool refuses, opens it again and compares; prints what came of it.
    private static func fill(_ settings: SpoolSettings) async throws {
        let spool = try Spool(settings: settings, metrics: Metrics(), log: .discarding)
        try await spool.start()
        var acknowledged: [UInt64] = []
        var reason = "none"
        for index in 0..<100_000 as Range<UInt64> {
            do {
                acknowledged.append(
                    try await spool.append(SpoolRecord(attributes: ["index": "\(index)"], body: body(index))))
            } catch {
                reason = error.reason
                break
            }
        }
        await spool.drain()

        let again = try Spool(settings: settings, metrics: Metrics(), log: .discarding)
        try await again.start()
        var found: [UInt64] = []
        var next = again.cursor
        while true {
            let batch = try await again.read(from: next)
            if batch.entries.isEmpty { break }
            found += batch.entries.map(\.sequence)
            next = batch.end
        }
        await again.advance(to: next)
        var recovered = false
        if !acknowledged.isEmpty {
            recovered = (try? await again.append(SpoolRecord(body: [1]))) != nil
        }
        await again.drain()
        print("\(reason) acknowledged=\(acknowledged.count) same=\(found == acknowledged) recovered=\(recovered)")
    }
}
