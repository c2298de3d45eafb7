/// A set of ASCII bytes, two words wide; bytes beyond ASCII are never in it.
struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: String) {
        for byte in members.utf8 where byte < 128 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    private static let digits = "0123456789"

    /// RFC 9110 `tchar`: what a field name is made of.
    static let token = ByteSet(letters + digits + "!#$%&'*+-.^_`|~")
    /// What nginx takes for a method: capital letters, `-` and `_`.
    static let method = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
    /// RFC 3986 `pchar` and `/`, with `%` judged apart.
    static let path = ByteSet(letters + digits + "-._~!$&'()*+,;=:@/%")
    /// RFC 3986 `query`, and what browsers and Apple's URL types leave unescaped in one.
    static let query = ByteSet(letters + digits + "-._~!$&'()*+,;=:@/?%[]|^`{}\\\"")
    /// A host and port: a name, an IPv4 address, an IPv6 address in brackets.
    static let host = ByteSet(letters + digits + "-._~!$&'()*+,;=:[]%")
}

extension UInt8 {
    static let carriageReturn: UInt8 = 13
    static let lineFeed: UInt8 = 10
    static let blank: UInt8 = 32
    static let tab: UInt8 = 9

    @inline(__always)
    var lowercasedASCII: UInt8 { self >= 65 && self <= 90 ? self | 32 : self }

    @inline(__always)
    var isDigit: Bool { self >= 48 && self <= 57 }

    var hexadecimalValue: UInt8? {
        switch self {
        case 48...57: self - 48
        case 65...70: self - 55
        case 97...102: self - 87
        default: nil
        }
    }
}

extension StringProtocol {
    func isEqualIgnoringCase(to other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// Without blanks and tabs at both ends.
    var trimmed: SubSequence {
        let body = drop { $0 == " " || $0 == "\t" }
        guard let last = body.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return body }
        return body[...last]
    }
}
