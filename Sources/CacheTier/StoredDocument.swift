package import JSON
internal import Time

/// What lies in Redis as one JSON object.
package protocol StoredDocument: Sendable {
    /// Writes its members into an object that the caller has begun.
    func write(to json: inout JSONWriter)
    /// Nil for what is none: what another version wrote in a form of its own is nothing that this one can go on with.
    init?(_ value: JSONValue)
}

extension StoredDocument {
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }

    package init?(_ bytes: [UInt8]) {
        guard let value = try? JSONValue.parse(bytes, maximumDepth: 8) else { return nil }
        self.init(value)
    }
}

/// Numbers that only grow, each written, read and added up under its name.
package protocol NamedCounts: Sendable, Hashable {
    typealias Table = [(name: String, count: any WritableKeyPath<Self, UInt64> & Sendable)]
    static var all: Table { get }
    init()
}

extension NamedCounts {
    package func write(to json: inout JSONWriter) {
        for (name, count) in Self.all { json.member(name, self[keyPath: count]) }
    }

    /// What is not there, or no number, counts as 0.
    init(_ value: JSONValue?) {
        self.init()
        for (name, count) in Self.all { self[keyPath: count] = value?.count(name) ?? 0 }
    }

    package static func += (a: inout Self, b: Self) {
        for (_, count) in all { a[keyPath: count] &+= b[keyPath: count] }
    }
}

extension JSONValue {
    /// A member that is a number from 0 up; 0 for anything else.
    func count(_ name: String) -> UInt64 { UInt64(max(0, self[name]?.int64 ?? 0)) }

    func instant(_ name: String) -> Timestamp? { self[name]?.string.flatMap { Timestamp(rfc3339: $0) } }
}
