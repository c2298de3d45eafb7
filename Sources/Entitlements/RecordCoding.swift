import JSON
import Time

/// Why stored bytes are no record.
package struct RecordError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case malformed = "the record is not JSON of the expected shape"
        case unknownVersion = "the record was written by a newer version"
        case notCanonical = "the record is not in canonical form"
    }

    package let code: Code
    /// The member or version it is about.
    package let detail: String

    package var description: String { "\(code.rawValue): \(detail)" }
}

extension LineageRecord {
    /// The version that `encoded` writes. A new one is needed when a member changes its meaning or a fact gains a field;
    /// decoding goes on reading the older ones.
    ///
    /// - 1: the first.
    /// - 2: renewals have the price, currency and discount of what comes next.
    /// - 3: claims.
    static let version: Int64 = 3

    /// The canonical bytes: compact JSON, members in a fixed order, what is absent left out. Equal facts, equal bytes.
    package func encoded() -> [UInt8] { encoded(as: Self.version) }

    private func encoded(as version: Int64) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 256 + 512 * transactions.count)
        json.beginObject()
        json.member("v", version)
        if !transactions.isEmpty {
            json.array("t", transactions) { json, fact in RecordWriter.write(fact, to: &json) }
        }
        if let renewal {
            json.key("r")
            RecordWriter.write(renewal, to: &json)
        }
        if let status {
            json.key("s")
            RecordWriter.write(status, to: &json)
        }
        if let owner {
            json.key("c")
            RecordWriter.write(owner, to: &json)
        }
        if !claims.isEmpty {
            json.array("k", claims) { json, claim in RecordWriter.write(claim, to: &json) }
        }
        json.endObject()
        return json.bytes
    }

    /// Reads what `encoded` wrote, in this version or an older one, and refuses everything else: written as the same
    /// version, the result is `bytes` again.
    package init(decoding bytes: [UInt8], lineage: LineageID) throws(RecordError) {
        let members: [RecordReader.Member]
        do { members = try RecordReader.members(of: bytes) } catch {
            throw RecordError(code: .malformed, detail: "\(error)")
        }
        guard let first = members.first, first.key == "v", let version = first.value.int64 else {
            throw RecordError(code: .malformed, detail: "v")
        }
        // A version that only added fields is read as it is: what it did not know is absent.
        guard 1...Self.version ~= version else { throw RecordError(code: .unknownVersion, detail: "\(version)") }

        self.init(lineage: lineage)
        for member in members.dropFirst() {
            switch member.key {
            case "t":
                guard let facts = member.value.array, facts.count <= Self.maximumTransactions else {
                    throw RecordError(code: .malformed, detail: "t")
                }
                for fact in facts { transactions.append(try RecordReader.read(fact, named: "t")) }
            case "r": renewal = try RecordReader.read(member.value, named: "r")
            case "s": status = try RecordReader.read(member.value, named: "s")
            case "c": owner = try RecordReader.read(member.value, named: "c")
            case "k":
                guard let facts = member.value.array, facts.count <= 2 * Self.maximumClaims else {
                    throw RecordError(code: .malformed, detail: "k")
                }
                for fact in facts { claims.append(try RecordReader.read(fact, named: "k")) }
            default: throw RecordError(code: .malformed, detail: member.key)
            }
        }
        for (earlier, later) in zip(transactions, transactions.dropFirst()) where !earlier.isBefore(later) {
            throw RecordError(code: .notCanonical, detail: "order of transactions")
        }
        for (earlier, later) in zip(claims, claims.dropFirst()) where !earlier.isBefore(later) {
            throw RecordError(code: .notCanonical, detail: "order of claims")
        }
        guard encoded(as: version) == bytes else { throw RecordError(code: .notCanonical, detail: "bytes") }
    }
}

/// A fact whose fields are listed once, for writing and for reading.
protocol CodedFact {
    init()
    mutating func code(with coder: inout some FactCoder)
}

/// Goes through a fact's fields in their fixed order: a writer writes each, a reader sets it.
protocol FactCoder {
    mutating func field(_ key: String, _ value: inout String)
    mutating func field(_ key: String, _ value: inout String?)
    mutating func field(_ key: String, _ value: inout Int64)
    mutating func field(_ key: String, _ value: inout Int64?)
    mutating func field(_ key: String, _ value: inout Bool?)
}

extension FactCoder {
    mutating func field(_ key: String, _ value: inout Timestamp) { field(key, &value.milliseconds) }

    mutating func field(_ key: String, _ value: inout Timestamp?) {
        var milliseconds = value?.milliseconds
        field(key, &milliseconds)
        value = milliseconds.map { Timestamp(milliseconds: $0) }
    }

    /// False is written as absence.
    mutating func field(_ key: String, _ value: inout Bool) {
        var present: Bool? = value ? true : nil
        field(key, &present)
        value = present ?? false
    }
}

struct RecordWriter: FactCoder {
    private var json: JSONWriter

    static func write(_ fact: some CodedFact, to json: inout JSONWriter) {
        var fact = fact
        var writer = RecordWriter(json: json)
        json = JSONWriter(reservingCapacity: 0)
        writer.json.beginObject()
        fact.code(with: &writer)
        writer.json.endObject()
        json = writer.json
    }

    static func bytes(of fact: some CodedFact) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 512)
        write(fact, to: &json)
        return json.bytes
    }

    mutating func field(_ key: String, _ value: inout String) { json.member(key, value) }
    mutating func field(_ key: String, _ value: inout Int64) { json.member(key, value) }

    mutating func field(_ key: String, _ value: inout String?) { if let value { json.member(key, value) } }
    mutating func field(_ key: String, _ value: inout Int64?) { if let value { json.member(key, value) } }
    mutating func field(_ key: String, _ value: inout Bool?) { if let value { json.member(key, value) } }
}

/// Takes the members one by one in the order in which the fields ask for them; notes the first that does not fit.
struct RecordReader: FactCoder {
    typealias Member = (key: String, value: JSONValue)

    private var rest: ArraySlice<Member>
    private var misfit: String?

    static func read<Fact: CodedFact>(_ value: JSONValue, named name: String) throws(RecordError) -> Fact {
        guard let object = value.object else { throw RecordError(code: .malformed, detail: name) }
        var reader = RecordReader(rest: object.members[...], misfit: nil)
        var fact = Fact()
        fact.code(with: &reader)
        if let misfit = reader.misfit ?? reader.rest.first?.key {
            throw RecordError(code: .malformed, detail: "\(name).\(misfit)")
        }
        return fact
    }

    static func members(of bytes: [UInt8]) throws(JSONError) -> [Member] {
        try JSONValue.parse(bytes, maximumDepth: 4).object?.members ?? []
    }

    private mutating func next<Value>(_ key: String, _ convert: (JSONValue) -> Value?) -> Value? {
        guard misfit == nil, let member = rest.first, member.key == key else { return nil }
        rest = rest.dropFirst()
        let value = convert(member.value)
        if value == nil { misfit = key }
        return value
    }

    private mutating func require<Value>(_ key: String, _ value: inout Value, _ convert: (JSONValue) -> Value?) {
        if let found = next(key, convert) { value = found } else { misfit = misfit ?? key }
    }

    mutating func field(_ key: String, _ value: inout String) { require(key, &value, \.string) }
    mutating func field(_ key: String, _ value: inout Int64) { require(key, &value, \.int64) }
    mutating func field(_ key: String, _ value: inout String?) { value = next(key, \.string) }
    mutating func field(_ key: String, _ value: inout Int64?) { value = next(key, \.int64) }
    mutating func field(_ key: String, _ value: inout Bool?) { value = next(key, \.bool) }
}
