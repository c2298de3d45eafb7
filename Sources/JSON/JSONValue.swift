/// A JSON value as a tree.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Parses one whole text (see `JSONReader` for what is refused).
    package static func parse(
        _ bytes: [UInt8], maximumDepth: Int = 64, allowingComments: Bool = false
    ) throws(JSONError) -> JSONValue {
        var reader = JSONReader(bytes, maximumDepth: maximumDepth, allowingComments: allowingComments)
        let value = try reader.readValue()
        try reader.finish()
        return value
    }

    /// The member named `key`; nil too when this is no object.
    package subscript(key: String) -> JSONValue? { object?[key] }

    package var isNull: Bool { self == .null }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var number: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an integer, when it is one and fits.
    package var int64: Int64? { number?.int64 }

    package var double: Double? { number?.double }

    package var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    package var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

/// The members of an object in the order of the text, each key once.
package struct JSONObject: Sendable, Hashable {
    package private(set) var members: [(key: String, value: JSONValue)] = []
    private var index: [String: Int] = [:]

    package init() {}

    /// Setting an existing key keeps its place; nil removes it.
    package subscript(key: String) -> JSONValue? {
        get { index[key].map { members[$0].value } }
        set {
            switch (index[key], newValue) {
            case (let place?, let value?): members[place].value = value
            case (nil, let value?):
                index[key] = members.count
                members.append((key, value))
            case (let place?, nil):
                members.remove(at: place)
                index = Dictionary(uniqueKeysWithValues: members.enumerated().map { ($1.key, $0) })
            case (nil, nil): break
            }
        }
    }

    package var keys: [String] { members.map(\.key) }

    /// Objects are equal when their members are, in whatever order (RFC 8259, section 4).
    package static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.members.count == b.members.count && a.members.allSatisfy { b[$0.key] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        for member in members.sorted(by: { $0.key < $1.key }) {
            hasher.combine(member.key)
            hasher.combine(member.value)
        }
    }
}

/// A number as its text says it, so that nothing is lost to a type chosen too early.
package struct JSONNumber: Sendable, Hashable {
    package let text: String

    /// `text` has passed the reader's or the writer's grammar.
    init(verified text: String) { self.text = text }

    package init(_ value: Int64) { text = String(value) }

    /// The value when it is integral and fits; 3.0 and 3e2 are integral, up to where doubles stop being exact.
    package var int64: Int64? {
        Int64(text) ?? Double(text).flatMap { $0.magnitude < 0x1p53 ? Int64(exactly: $0) : nil }
    }

    /// The nearest double; nil when it is beyond every finite one.
    package var double: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }
}

extension JSONReader {
    /// Reads one value of any kind as a tree.
    package mutating func readValue() throws(JSONError) -> JSONValue {
        switch try peek() {
        case .object:
            var object = JSONObject()
            try readObject { (reader, key) throws(JSONError) in
                object[key.description] = try reader.readValue()
            }
            return .object(object)
        case .array:
            var array: [JSONValue] = []
            try readArray { (reader) throws(JSONError) in array.append(try reader.readValue()) }
            return .array(array)
        case .string: return .string(try readString())
        case .number: return .number(try readNumber())
        case .bool: return .bool(try readBool())
        case .null:
            try readNull()
            return .null
        }
    }
}
