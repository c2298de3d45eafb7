/// The id of an entry of a stream.
struct StreamID: Comparable {
    var milliseconds: UInt64 = 0
    var sequence: UInt64 = 0

    static let beginning = StreamID()
    static let end = StreamID(milliseconds: .max, sequence: .max)

    init(milliseconds: UInt64 = 0, sequence: UInt64 = 0) {
        self.milliseconds = milliseconds
        self.sequence = sequence
    }

    /// What is left out after the milliseconds is `missing`.
    init?(_ bytes: [UInt8], missing: UInt64 = 0) {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "-", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let milliseconds = UInt64(first) else { return nil }
        self.milliseconds = milliseconds
        if parts.count == 2 {
            guard let sequence = UInt64(parts[1]) else { return nil }
            self.sequence = sequence
        } else {
            sequence = missing
        }
    }

    static func < (a: StreamID, b: StreamID) -> Bool {
        (a.milliseconds, a.sequence) < (b.milliseconds, b.sequence)
    }

    /// Nil for the one behind the last.
    var next: StreamID? {
        if sequence < .max { return StreamID(milliseconds: milliseconds, sequence: sequence + 1) }
        if milliseconds < .max { return StreamID(milliseconds: milliseconds + 1) }
        return nil
    }

    var bytes: [UInt8] { Array("\(milliseconds)-\(sequence)".utf8) }

    // SQLite's integers have a sign; these keep the order.
    var storedMilliseconds: Int64 { Self.stored(milliseconds) }
    var storedSequence: Int64 { Self.stored(sequence) }

    init(storedMilliseconds: Int64, storedSequence: Int64) {
        milliseconds = Self.read(storedMilliseconds)
        sequence = Self.read(storedSequence)
    }

    private static func stored(_ value: UInt64) -> Int64 { Int64(bitPattern: value ^ (1 << 63)) }
    private static func read(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }
}
