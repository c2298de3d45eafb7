/// Header fields: names compare without case, a name may come more than once, order is kept.
///
/// All names and values lie in one buffer, so that taking in a request costs two allocations and not two per field;
/// a `String` is made only of what somebody asks for.
package struct HTTPHeaders: Sendable {
    struct Field: Sendable {
        var name: Range<Int>
        var value: Range<Int>
    }

    private(set) var bytes: [UInt8] = []
    private(set) var fields: [Field] = []

    package init() {}

    package var count: Int { fields.count }
    package var isEmpty: Bool { fields.isEmpty }

    /// The first value of `name`.
    package subscript(_ name: String) -> String? {
        guard let field = fields.first(where: { matches($0, name) }) else { return nil }
        return String(decoding: bytes[field.value], as: UTF8.self)
    }

    /// Every value of `name`, in order.
    package func all(_ name: String) -> [String] {
        fields.lazy.filter { matches($0, name) }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    /// The first value of `name` as it came, for what is compared or decoded as bytes.
    package func bytes(of name: String) -> ArraySlice<UInt8>? {
        fields.first(where: { matches($0, name) }).map { bytes[$0.value] }
    }

    /// Whether `name` is a comma-separated list that has `token` in it, without regard to case.
    package func contains(_ token: String, in name: String) -> Bool {
        all(name).contains { $0.split(separator: ",").contains { $0.trimmed.isEqualIgnoringCase(to: token) } }
    }

    /// Adds a field. Line breaks and NUL in it become blanks: no value can start a field of its own.
    package mutating func append(_ name: String, _ value: String) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8.lazy.map(Self.harmless))
        let middle = bytes.count
        bytes.append(contentsOf: value.utf8.lazy.map(Self.harmless))
        fields.append(Field(name: start..<middle, value: middle..<bytes.count))
    }

    /// Puts `value` in the place of all fields called `name`.
    package mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    /// Takes out all fields called `name`.
    package mutating func remove(_ name: String) {
        fields = fields.filter { !matches($0, name) }
    }

    /// Adds a field of which the parser has checked every byte.
    mutating func append(checked source: [UInt8], name: Range<Int>, value: Range<Int>) {
        if bytes.isEmpty {
            bytes.reserveCapacity(512)
            fields.reserveCapacity(12)
        }
        let start = bytes.count
        bytes.append(contentsOf: source[name])
        let middle = bytes.count
        bytes.append(contentsOf: source[value])
        fields.append(Field(name: start..<middle, value: middle..<bytes.count))
    }

    private func matches(_ field: Field, _ name: String) -> Bool {
        name.utf8.count == field.name.count
            && zip(name.utf8, bytes[field.name]).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    private static func harmless(_ byte: UInt8) -> UInt8 {
        byte == 13 || byte == 10 || byte == 0 ? UInt8(ascii: " ") : byte
    }
}

extension HTTPHeaders: Sequence {
    package func makeIterator() -> some IteratorProtocol<(name: String, value: String)> {
        fields.lazy.map { field in
            (
                name: String(decoding: bytes[field.name], as: UTF8.self),
                value: String(decoding: bytes[field.value], as: UTF8.self)
            )
        }.makeIterator()
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension HTTPHeaders: Equatable {
    package static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { $0.name.isEqualIgnoringCase(to: $1.name) && $0.value == $1.value }
    }
}
