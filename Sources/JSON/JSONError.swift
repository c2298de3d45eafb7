/// Why bytes are not JSON as RFC 8259 defines it, and where.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "a byte that cannot stand here"
        case trailingBytes = "something follows the value"
        case invalidUTF8 = "a string is not UTF-8"
        case invalidEscape = "a string has an escape that does not exist or half a surrogate pair"
        case controlCharacter = "a string has a raw control character"
        case invalidNumber = "a number is malformed"
        case duplicateKey = "an object has the same key twice"
        case tooDeep = "nested too deeply"
        case wrongType = "another type was expected here"
    }

    package let code: Code
    /// Bytes from the start of the text.
    package let offset: Int

    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "\(code.rawValue) (at byte \(offset))" }
}
