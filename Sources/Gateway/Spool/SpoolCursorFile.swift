internal import Glibc
internal import Runtime

/// Keeps the cursor on the disk in two slots, written in turn, so that a write torn by a crash leaves the other one.
///
/// A cursor that is behind, or lost, costs duplicates only.
struct SpoolCursorFile: ~Copyable {
    private let file: DiskFile
    private var generation: UInt64 = 0
    /// As it was found.
    private(set) var found: UInt64 = 1

    private static let slotDistance = 4096
    private static let salt: UInt32 = 0x6375_7273

    init(folder: String) throws(SystemError) {
        let file = try DiskFile("\(folder)/cursor", O_RDWR | O_CREAT)
        let slots = [try file.read(20, at: 0), try file.read(20, at: Self.slotDistance)]
        self.file = file
        for bytes in slots where bytes.count == 20 {
            let checksum = CRC32C.checksum(bytes[..<16], seed: Self.salt)
            guard bytes[16...].littleEndian(UInt32.self, at: 0) == checksum else { continue }
            let slotGeneration = bytes[...].littleEndian(UInt64.self, at: 0)
            guard slotGeneration > generation else { continue }
            generation = slotGeneration
            found = bytes[...].littleEndian(UInt64.self, at: 8)
        }
    }

    mutating func write(_ cursor: UInt64) throws(SystemError) {
        generation &+= 1
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(generation)
        bytes.appendLittleEndian(cursor)
        bytes.appendLittleEndian(CRC32C.checksum(bytes[...], seed: Self.salt))
        try file.write(bytes, at: Int(generation % 2) * Self.slotDistance)
        try file.synchronize()
    }
}
