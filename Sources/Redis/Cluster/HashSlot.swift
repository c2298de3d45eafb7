/// Which of a cluster's 16384 slots a key lies in.
enum HashSlot {
    static let count = 16384

    /// CRC-16 of what stands in the first braces, or of the whole key when nothing does.
    static func of(_ key: [UInt8]) -> Int {
        var hashed = key[...]
        if let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            hashed = key[(open + 1)..<close]
        }
        return Int(crc16(hashed)) % count
    }

    /// CRC-16/XMODEM: polynomial 0x1021, from zero, nothing reflected.
    static func crc16(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return crc
    }
}
