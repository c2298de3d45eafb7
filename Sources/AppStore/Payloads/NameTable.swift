internal import JSON

/// Finds the member of an object by its name, without comparing the name with all of them.
struct NameTable<Member: CaseIterable & RawRepresentable<String> & Sendable>: Sendable {
    /// A power of two, at most half full; a name stands at its hash or behind it.
    private let slots: [(name: [UInt8], member: Member)?]

    init() {
        var size = 8
        while size < 2 * Member.allCases.count { size *= 2 }
        var slots = [(name: [UInt8], member: Member)?](repeating: nil, count: size)
        for member in Member.allCases {
            let name = Array(member.rawValue.utf8)
            var slot = Self.hash(name[...]) & (size - 1)
            while slots[slot] != nil { slot = (slot + 1) & (size - 1) }
            slots[slot] = (name, member)
        }
        self.slots = slots
    }

    subscript(key: JSONKey) -> Member? {
        var slot = Self.hash(key.bytes) & (slots.count &- 1)
        while let entry = slots[slot] {
            if entry.name[...] == key.bytes { return entry.member }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    /// FNV-1a. Whoever chooses names to collide gains nothing: an unknown name meets a few entries at most.
    private static func hash(_ name: ArraySlice<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
