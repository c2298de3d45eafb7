/// The two forms of an ECDSA signature: r and s side by side (JWS), and a DER sequence of two integers (OpenSSL).
enum ECDSASignature {
    /// Bytes of r‖s on P-256.
    static let es256Size = 64

    /// r‖s as DER; `raw` has an even number of bytes, at most 96.
    static func der(fromRaw raw: ArraySlice<UInt8>) -> [UInt8] {
        let middle = raw.startIndex &+ raw.count / 2
        var der: [UInt8] = [0x30, 0]
        der.reserveCapacity(raw.count &+ 8)
        append(raw[..<middle], to: &der)
        append(raw[middle...], to: &der)
        der[1] = UInt8(truncatingIfNeeded: der.count &- 2)
        return der
    }

    /// DER as r‖s, each left-padded to `fieldSize` bytes; nil if it is not the DER form of two such integers.
    static func raw(fromDER der: [UInt8], fieldSize: Int) -> [UInt8]? {
        guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count &- 2, der[1] < 0x80 else { return nil }
        var rest = der[2...]
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard rest.count >= 2, rest[rest.startIndex] == 0x02 else { return nil }
            let length = Int(rest[rest.startIndex &+ 1])
            guard length > 0, length < 0x80, rest.count >= length &+ 2 else { return nil }
            let integer = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            guard integer.count <= fieldSize else { return nil }
            raw += [UInt8](repeating: 0, count: fieldSize &- integer.count) + integer
            rest = rest.dropFirst(length &+ 2)
        }
        return rest.isEmpty ? raw : nil
    }

    private static func append(_ number: ArraySlice<UInt8>, to body: inout [UInt8]) {
        let digits = number.drop { $0 == 0 }
        // DER integers are signed: a leading one bit needs a zero byte before it, and zero is one zero byte.
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        body.append(0x02)
        body.append(UInt8(truncatingIfNeeded: digits.count &+ (needsZero ? 1 : 0)))
        if needsZero { body.append(0) }
        body += digits
    }
}
