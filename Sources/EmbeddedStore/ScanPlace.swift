/// Where a key stands in the order in which SCAN walks: by a hash of its name, so that it never changes.
///
/// Redis counts with the bits of its cursor in reverse, and whoever shows how far a walk is relies on that; so do these.
struct ScanPlace: Hashable, Sendable {
    /// From 1 to 2⁶³ - 1; as SQLite keeps it.
    let number: Int64

    static let beginning = ScanPlace(number: 0)

    private init(number: Int64) { self.number = number }

    init(stored: Int64) { number = stored }

    init(ofKey key: [UInt8]) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        hash ^= hash >> 33
        number = max(1, Int64(bitPattern: hash >> 1))
    }

    /// Nil for what is no cursor.
    init?(cursor: [UInt8]) {
        guard let number = UInt64(String(decoding: cursor, as: UTF8.self)) else { return nil }
        self.number = Int64(bitPattern: Self.reversed(number) >> 1)
    }

    var cursor: String { String(Self.reversed(UInt64(bitPattern: number) << 1)) }

    private static func reversed(_ number: UInt64) -> UInt64 {
        var (rest, reversed): (UInt64, UInt64) = (number, 0)
        for _ in 0..<64 {
            reversed = reversed << 1 | rest & 1
            rest >>= 1
        }
        return reversed
    }
}
