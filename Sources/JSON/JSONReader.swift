/// Reads JSON value by value, without building a tree.
///
/// Strict by RFC 8259, and where the RFC leaves a choice: duplicate keys are an error, and so are half surrogate pairs.
/// Work and memory are bounded by the input's length, and nesting by `maximumDepth`.
package struct JSONReader: Sendable {
    package enum Kind: Sendable { case object, array, string, number, bool, null }

    package let bytes: [UInt8]
    /// Index of the next byte to read.
    package private(set) var position = 0
    private var depth = 0
    private let maximumDepth: Int
    private let allowsComments: Bool

    /// With `allowingComments`, `//` to the end of the line counts as white space: for files that people write.
    package init(_ bytes: [UInt8], maximumDepth: Int = 64, allowingComments: Bool = false) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        self.allowsComments = allowingComments
    }

    /// What the next value is; reads nothing of it but the white space before.
    package mutating func peek() throws(JSONError) -> Kind {
        skipWhitespace()
        switch try current() {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw JSONError(.unexpectedByte, at: position)
        }
    }

    /// Calls `member` for each key; it must read (or `skip`) exactly the member's value.
    package mutating func readObject(
        _ member: (inout JSONReader, JSONKey) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(.object)
        try descend()
        var seen = SeenKeys()
        if try isNext(UInt8(ascii: "}")) { return ascend() }
        while true {
            let key = try readKey(&seen)
            guard try isNext(UInt8(ascii: ":")) else { throw JSONError(.unexpectedByte, at: position) }
            try member(&self, key)
            if try isNext(UInt8(ascii: "}")) { return ascend() }
            guard try isNext(UInt8(ascii: ",")) else { throw JSONError(.unexpectedByte, at: position) }
        }
    }

    private mutating func readKey(_ seen: inout SeenKeys) throws(JSONError) -> JSONKey {
        skipWhitespace()
        let start = position
        guard try current() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: position) }
        let content = try readStringContent()
        let isNew: Bool
        let key: JSONKey
        switch content {
        case .ascii(let place):
            isNew = seen.insert(place, of: bytes)
            key = JSONKey(bytes: bytes[place])
        case .text(let text):
            isNew = seen.insert(text, bytes)
            key = JSONKey(bytes: Array(text.utf8)[...])
        }
        guard isNew else { throw JSONError(.duplicateKey, at: start) }
        return key
    }

    /// Calls `element` before each element; it must read (or `skip`) exactly that element.
    package mutating func readArray(_ element: (inout JSONReader) throws(JSONError) -> Void) throws(JSONError) {
        try expect(.array)
        try descend()
        if try isNext(UInt8(ascii: "]")) { return ascend() }
        while true {
            try element(&self)
            if try isNext(UInt8(ascii: "]")) { return ascend() }
            guard try isNext(UInt8(ascii: ",")) else { throw JSONError(.unexpectedByte, at: position) }
        }
    }

    package mutating func readString() throws(JSONError) -> String {
        try expect(.string)
        switch try readStringContent() {
        case .ascii(let place):
            // Without a byte over 0x7F it is UTF-8 as it stands.
            return unsafe String(copying: UTF8Span(unchecked: bytes.span.extracting(place), isKnownASCII: true))
        case .text(let text): return text
        }
    }

    package mutating func readNumber() throws(JSONError) -> JSONNumber {
        try expect(.number)
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let integer = skipDigits()
        let startsWithZero = integer > 1 && bytes[position - integer] == UInt8(ascii: "0")
        guard integer > 0, !startsWithZero else { throw JSONError(.invalidNumber, at: start) }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw JSONError(.invalidNumber, at: start) }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard skipDigits() > 0 else { throw JSONError(.invalidNumber, at: start) }
        }
        return JSONNumber(verified: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    package mutating func readBool() throws(JSONError) -> Bool {
        try expect(.bool)
        if skipLiteral("true") { return true }
        if skipLiteral("false") { return false }
        throw JSONError(.unexpectedByte, at: position)
    }

    package mutating func readNull() throws(JSONError) {
        try expect(.null)
        guard skipLiteral("null") else { throw JSONError(.unexpectedByte, at: position) }
    }

    /// Reads one value of any kind and forgets it; it must still be valid.
    package mutating func skip() throws(JSONError) {
        switch try peek() {
        case .object: try readObject { (reader, _) throws(JSONError) in try reader.skip() }
        case .array: try readArray { (reader) throws(JSONError) in try reader.skip() }
        case .string: _ = try readStringContent()
        case .number: _ = try readNumber()
        case .bool: _ = try readBool()
        case .null: try readNull()
        }
    }

    /// Makes sure that nothing but white space is left.
    package mutating func finish() throws(JSONError) {
        skipWhitespace()
        guard position == bytes.count else { throw JSONError(.trailingBytes, at: position) }
    }

    // MARK: Pieces

    private func current() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw JSONError(.unexpectedEnd, at: position) }
        return bytes[position]
    }

    private mutating func expect(_ kind: Kind) throws(JSONError) {
        guard try peek() == kind else { throw JSONError(.wrongType, at: position) }
    }

    private mutating func descend() throws(JSONError) {
        depth += 1
        guard depth <= maximumDepth else { throw JSONError(.tooDeep, at: position) }
        position += 1
    }

    private mutating func ascend() { depth -= 1 }

    private mutating func isNext(_ byte: UInt8) throws(JSONError) -> Bool {
        skipWhitespace()
        guard try current() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where allowsComments && skipLiteral("//"):
                while position < bytes.count, bytes[position] != 0x0A { position += 1 }
            default: return
            }
        }
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] { position += 1 }
        return position - start
    }

    private mutating func skipLiteral(_ literal: StaticString) -> Bool {
        let end = position + literal.utf8CodeUnitCount
        guard end <= bytes.count, bytes[position..<end].elementsEqual(literal.description.utf8) else { return false }
        position = end
        return true
    }

    /// A string between its quotation marks: usually a piece of the text.
    private enum StringContent {
        case ascii(Range<Int>)
        case text(String)
    }

    /// `position` stands on the opening quotation mark, and afterwards behind the closing one.
    private mutating func readStringContent() throws(JSONError) -> StringContent {
        let start = position &+ 1
        let (end, isASCII) = endOfPlainText(from: start)
        position = end
        switch try current() {
        case UInt8(ascii: "\""):
            position &+= 1
            if isASCII { return .ascii(start..<end) }
            return .text(try text(bytes.span.extracting(start..<end), at: start))
        case UInt8(ascii: "\\"): return .text(try readEscapedString(from: start))
        default: throw JSONError(.controlCharacter, at: position)
        }
    }

    private func text(_ bytes: Span<UInt8>, at start: Int) throws(JSONError) -> String {
        do { return String(copying: try UTF8Span(validating: bytes)) } catch {
            throw JSONError(.invalidUTF8, at: start)
        }
    }

    /// The first place from `start` on of a quotation mark, a backslash or a control character, or else the end; and
    /// whether there is nothing but ASCII before it. Looks at eight bytes at a time.
    private func endOfPlainText(from start: Int) -> (end: Int, isASCII: Bool) {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = ones << 7
        var index = start
        var seen: UInt64 = 0
        while index &+ 8 <= bytes.count {
            let word = unsafe UInt64(
                littleEndian: bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            // A byte's high bit in `found` says that it ends the text; those above the lowest such may be wrong.
            let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
            let backslash = word ^ ones &* UInt64(UInt8(ascii: "\\"))
            let found =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word)
                & highBits
            if found != 0 {
                seen |= word & (found & (0 &- found) &- 1)
                return (index &+ found.trailingZeroBitCount / 8, seen & highBits == 0)
            }
            seen |= word
            index = index &+ 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            seen |= UInt64(byte)
            index = index &+ 1
        }
        return (index, seen & highBits == 0)
    }

    /// `position` stands on the first backslash; what precedes it from `start` on is copied as it is.
    private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
        var text = Array(bytes[start..<position])
        while true {
            let plain = position
            position = endOfPlainText(from: plain).end
            text += bytes[plain..<position]
            let byte = try current()
            position &+= 1
            switch byte {
            case UInt8(ascii: "\""): return try self.text(text.span, at: start)
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            default: throw JSONError(.controlCharacter, at: position &- 1)
            }
        }
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        let byte = try current()
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try readUnicodeEscape()).utf8)
        default: throw JSONError(.invalidEscape, at: position - 1)
        }
    }

    private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let start = position
        let first = try readFourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard 0xD800..<0xDC00 ~= first, skipLiteral(#"\u"#) else { throw JSONError(.invalidEscape, at: start) }
        let second = try readFourHexDigits()
        guard 0xDC00..<0xE000 ~= second,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00))
        else { throw JSONError(.invalidEscape, at: start) }
        return scalar
    }

    private mutating func readFourHexDigits() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            let byte = try current()
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw JSONError(.invalidEscape, at: position)
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
