/// CRC-32C (Castagnoli), the checksum of ext4 and iSCSI, eight bytes at a step.
package enum CRC32C {
    /// Eight tables of 256: table `n` advances a byte that is `n` bytes away from the end of the step.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var remainder = UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0x82F6_3B78 : remainder >> 1 }
            tables[byte] = remainder
        }
        for index in 256..<(8 * 256) {
            let previous = tables[index - 256]
            tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
        }
        return tables
    }()

    /// The checksum of `bytes`, going on from `seed` (the checksum of what came before, or a salt).
    package static func checksum(_ bytes: ArraySlice<UInt8>, seed: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe tables.withUnsafeBufferPointer { tables in
                var crc = ~seed
                var offset = 0
                while bytes.count - offset >= 8 {
                    let word =
                        unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                        ^ UInt64(crc)
                    crc = 0
                    for lane in 0..<8 {
                        let byte = Int(truncatingIfNeeded: word >> UInt64(8 * lane) & 0xFF)
                        unsafe crc ^= tables[(7 - lane) * 256 + byte]
                    }
                    offset += 8
                }
                while offset < bytes.count {
                    unsafe crc = crc >> 8 ^ tables[Int((crc ^ UInt32(bytes[offset])) & 0xFF)]
                    offset += 1
                }
                return ~crc
            }
        }
    }
}
