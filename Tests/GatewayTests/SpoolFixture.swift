import Glibc
import Runtime
import TestSupport

@testable import Gateway

/// A spool in a folder of its own, and what tests do to its files.
struct SpoolFixture {
    let folder: TemporaryFolder
    var settings: SpoolSettings
    let metrics = Metrics()

    init(maxBytes: Int = 64 << 20, segmentBytes: Int = 1 << 20) throws {
        folder = try TemporaryFolder("spool")
        settings = SpoolSettings(folder: folder.file("spool"), maxBytes: maxBytes, segmentBytes: segmentBytes)
    }

    func open(fault: DiskFault? = nil) async throws -> Spool {
        let spool = try Spool(settings: settings, metrics: metrics, log: .discarding, fault: fault)
        try await spool.start()
        return spool
    }

    /// The segment files, oldest first.
    func segments() throws -> [String] {
        try SpoolFolder.segmentNames(in: settings.folder).map { "\(settings.folder)/\($0.fileName)" }
    }

    func bytes(of path: String) throws -> [UInt8] {
        let file = try DiskFile(path, O_RDONLY)
        return try file.read(file.size, at: 0)
    }

    /// Writes over a file as decay would, without the spool's knowledge.
    func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        let file = try DiskFile(path, O_RDWR)
        try file.write(bytes, at: offset)
    }

    func truncate(_ path: String, to size: Int) throws {
        try DiskFile(path, O_RDWR).truncate(to: size)
    }

    func counter(_ name: String) -> UInt64 { metrics.counter(name, "").value }
}

extension Spool {
    /// Everything from the cursor on.
    func readAll() async throws -> [SpoolEntry] {
        var entries: [SpoolEntry] = []
        var next = cursor
        while true {
            let batch = try await read(from: next, maxCount: 100)
            entries += batch.entries
            if batch.end == next { return entries }
            next = batch.end
        }
    }

    /// Appends `count` records whose body and attribute say which they are.
    func append(numbered numbers: Range<Int>, size: Int = 500) async throws {
        for number in numbers { try await append(.numbered(number, size: size)) }
    }
}

extension SpoolRecord {
    static func numbered(_ number: Int, size: Int = 500) -> SpoolRecord {
        SpoolRecord(
            attributes: ["number": "\(number)"],
            body: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size))
    }
}
