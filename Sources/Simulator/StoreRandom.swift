/// Random numbers that a seed decides (SplitMix64), so that a store's life can be lived again.
package struct StoreRandom: Sendable, RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A version 4 UUID, lower case.
    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        func hex(_ value: UInt64, _ shift: UInt64, _ digits: Int) -> String {
            let text = String((value >> shift) & ((1 << (UInt64(digits) * 4)) - 1), radix: 16)
            return String(repeating: "0", count: digits - text.count) + text
        }
        return [hex(high, 32, 8), hex(high, 16, 4), hex(high, 0, 4), hex(low, 48, 4), hex(low, 0, 12)]
            .joined(separator: "-")
    }

    /// True in `percent` of a hundred cases.
    mutating func happens(_ percent: Double) -> Bool { Double.random(in: 0..<100, using: &self) < percent }
}

/// Hands out ids that look like Apple's: long decimal numbers that grow, with gaps.
struct StoreIdentifiers: Sendable {
    private var random: StoreRandom
    private var transaction: UInt64
    private var lineItem: UInt64
    private var appTransaction: UInt64

    init(environment: StoreSettings.Environment, seed: UInt64) {
        random = StoreRandom(seed: seed ^ 0x5EED)
        // Production's are 15 digits, sandbox's 16 and begin with 2000000.
        transaction =
            environment == .production
            ? 200_000_000_000_000 + random.next() % 700_000_000_000_000
            : 2_000_000_000_000_000 + random.next() % 900_000_000
        lineItem = 2_000_000_000_000_000 + random.next() % 900_000_000
        appTransaction = 704_000_000_000_000_000 + random.next() % 900_000_000_000_000
    }

    mutating func nextTransaction() -> String {
        transaction &+= gap()
        return String(transaction)
    }

    mutating func nextLineItem() -> String {
        lineItem &+= gap()
        return String(lineItem)
    }

    mutating func nextAppTransaction() -> String {
        appTransaction &+= gap()
        return String(appTransaction)
    }

    private mutating func gap() -> UInt64 { 1 + random.next() % 89 }
}
