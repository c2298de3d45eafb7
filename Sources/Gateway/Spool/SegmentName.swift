/// Names a segment file: the sequence of its first record, and the salt of its checksums.
///
/// The salt is in the name rather than in the file, so that no damage to the file's contents can take it away.
struct SegmentName: Sendable, Hashable {
    let first: UInt64
    let salt: UInt32

    var fileName: String {
        "\(Self.padded(String(first), to: 20))-\(Self.padded(String(salt, radix: 16), to: 8)).spool1"
    }

    init(first: UInt64, salt: UInt32 = .random(in: .min ... .max)) {
        self.first = first
        self.salt = salt
    }

    /// Nil when `fileName` is not a segment's.
    init?(fileName: String) {
        guard fileName.hasSuffix(".spool1") else { return nil }
        let parts = fileName.dropLast(".spool1".count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = UInt64(parts[0]), let salt = UInt32(parts[1], radix: 16) else { return nil }
        // Sequences count up from one: a file that claims to begin so high is not ours, and counting on from there would
        // run over.
        guard 1...(1 << 62) ~= first else { return nil }
        self.init(first: first, salt: salt)
        guard self.fileName == fileName else { return nil }
    }

    private static func padded(_ digits: String, to width: Int) -> String {
        String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
