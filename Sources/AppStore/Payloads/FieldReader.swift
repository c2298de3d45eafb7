internal import JSON
internal import Time

/// An object of Apple's, read member by member.
///
/// All objects are read in this one way: the reader finds the member in `names`, and `read` takes its value.
protocol PayloadObject {
    /// The members that are known, by their JSON names.
    associatedtype Member: CaseIterable & RawRepresentable<String> & Sendable
    static var names: NameTable<Member> { get }

    init()
    /// Takes exactly the member's value from `json`.
    mutating func read(_ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError)
    /// The same for a member that is not known; by default it is passed over.
    mutating func readUnknown(_ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError)
}

extension PayloadObject {
    mutating func readUnknown(_ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        try fields.skipUnknown(&json)
    }
}

/// Reads the members of objects so that a wrong type costs only that member; null counts as absent.
struct FieldReader {
    private(set) var warnings: [PayloadWarning] = []
    private var key: JSONKey?
    /// Instead of `key` while an element of a list is read.
    private var elementName: String?
    /// Where the object stands that is being read, up to and with the dot.
    private var path = ""
    /// What was read, if somebody wants to see it.
    private var seen: [PayloadField]?

    private init(isShowing: Bool) {
        if isShowing { seen = [] }
    }

    /// Reads one whole payload.
    static func read<Object: PayloadObject>(
        _ bytes: [UInt8]
    ) throws(PayloadError) -> (Object, [PayloadWarning]) {
        var fields = FieldReader(isShowing: false)
        let object: Object = try fields.readWhole(bytes)
        return (object, fields.warnings)
    }

    /// Every member of a payload, as it was read.
    static func fields<Object: PayloadObject>(
        of bytes: [UInt8], as _: Object.Type
    ) throws(PayloadError) -> [PayloadField] {
        var fields = FieldReader(isShowing: true)
        let _: Object = try fields.readWhole(bytes)
        return fields.seen ?? []
    }

    private mutating func readWhole<Object: PayloadObject>(_ bytes: [UInt8]) throws(PayloadError) -> Object {
        var object = Object()
        var json = JSONReader(bytes)
        do {
            try readMembers(of: &object, &json)
            try json.finish()
        } catch {
            throw PayloadError(description: error.description)
        }
        return object
    }

    private mutating func readMembers<Object: PayloadObject>(
        of object: inout Object, _ json: inout JSONReader
    ) throws(JSONError) {
        try json.readObject { (json, key) throws(JSONError) in
            self.key = key
            if let member = Object.names[key] {
                try object.read(member, &json, &self)
            } else {
                try object.readUnknown(&json, &self)
            }
        }
    }

    /// The member that is being read.
    var name: String { elementName ?? key?.description ?? "" }

    mutating func warn(_ problem: String) {
        warnings.append(PayloadWarning(field: path + name, problem: problem))
    }

    // MARK: Texts

    mutating func string(_ json: inout JSONReader) throws(JSONError) -> String? {
        guard let text = try text(&json) else { return nil }
        show(text)
        return text
    }

    /// One of a vocabulary, known or not.
    mutating func value<Known: Vocabulary>(
        _ json: inout JSONReader
    ) throws(JSONError) -> Raw<Known>? where Known.RawValue == String {
        guard let text = try text(&json) else { return nil }
        let value = Raw<Known>(raw: text)
        if seen != nil { show(text, isKnown: value.known != nil) }
        return value
    }

    /// A UUID in lower case.
    mutating func uuid(_ json: inout JSONReader) throws(JSONError) -> String? {
        guard let text = try text(&json) else { return nil }
        guard let uuid = UUIDText.canonical(text) else {
            warn("is not a UUID")
            return nil
        }
        show(text)
        return uuid
    }

    /// An `appAccountToken`: a UUID in lower case. Empty and all-zero ones, which some engines send for "none", count as
    /// absent.
    mutating func accountToken(_ json: inout JSONReader) throws(JSONError) -> String? {
        guard let text = try text(&json) else { return nil }
        guard !text.isEmpty, text != UUIDText.zero else {
            show(text, meaning: "no token")
            return nil
        }
        guard let uuid = UUIDText.canonical(text) else {
            warn("is not a UUID")
            return nil
        }
        show(text)
        return uuid
    }

    private mutating func text(_ json: inout JSONReader) throws(JSONError) -> String? {
        guard try isNext(.string, &json, "is not a text") else { return nil }
        return try json.readString()
    }

    // MARK: Numbers

    mutating func integer(_ json: inout JSONReader) throws(JSONError) -> Int64? {
        guard let value = try number(&json) else { return nil }
        show(String(value))
        return value
    }

    mutating func int32(_ json: inout JSONReader) throws(JSONError) -> Int32? {
        guard let value = try number(&json) else { return nil }
        guard let narrow = Int32(exactly: value) else {
            warn("is not a 32-bit integer")
            return nil
        }
        show(String(value))
        return narrow
    }

    /// An amount of money in milliunits of its currency.
    mutating func money(_ json: inout JSONReader) throws(JSONError) -> Int64? {
        guard let value = try number(&json) else { return nil }
        if seen != nil { show(String(value), meaning: Self.units(ofThousandths: value)) }
        return value
    }

    /// Thousandths of a percent.
    mutating func percentage(_ json: inout JSONReader) throws(JSONError) -> Int32? {
        guard let value = try number(&json) else { return nil }
        guard let narrow = Int32(exactly: value) else {
            warn("is not a 32-bit integer")
            return nil
        }
        if seen != nil { show(String(value), meaning: "\(Self.units(ofThousandths: value)) %") }
        return narrow
    }

    /// One of a vocabulary of numbers, known or not.
    mutating func value<Known: Vocabulary>(
        _ json: inout JSONReader
    ) throws(JSONError) -> Raw<Known>? where Known.RawValue == Int64 {
        guard let number = try number(&json) else { return nil }
        let value = Raw<Known>(raw: number)
        if seen != nil { show(String(number), meaning: value.known.map { "\($0)" }, isKnown: value.known != nil) }
        return value
    }

    mutating func bool(_ json: inout JSONReader) throws(JSONError) -> Bool? {
        guard try isNext(.bool, &json, "is neither true nor false") else { return nil }
        let value = try json.readBool()
        show(value ? "true" : "false")
        return value
    }

    /// Milliseconds since 1970, fractions cut off (Xcode sends some); years up to 9999 only.
    mutating func date(_ json: inout JSONReader) throws(JSONError) -> Timestamp? {
        guard try isNext(.number, &json, "is not a number") else { return nil }
        let number = try json.readNumber()
        guard let value = number.int64 ?? number.double.flatMap({ Int64(exactly: $0.rounded(.down)) }),
            Self.years.contains(value)
        else {
            warn("is out of range for a date")
            return nil
        }
        let date = Timestamp(milliseconds: value)
        if seen != nil { show(number.text, meaning: date.rfc3339) }
        return date
    }

    private mutating func number(_ json: inout JSONReader) throws(JSONError) -> Int64? {
        guard try isNext(.number, &json, "is not a number") else { return nil }
        if let value = try json.readNumber().int64 { return value }
        warn("is not a 64-bit integer")
        return nil
    }

    // MARK: Lists and objects

    mutating func strings(_ json: inout JSONReader) throws(JSONError) -> [String] {
        try list(&json) { (fields, json) throws(JSONError) in try fields.string(&json) }
    }

    mutating func uuids(_ json: inout JSONReader) throws(JSONError) -> [String] {
        try list(&json) { (fields, json) throws(JSONError) in try fields.uuid(&json) }
    }

    mutating func objects<Object: PayloadObject>(_ json: inout JSONReader) throws(JSONError) -> [Object] {
        try list(&json) { (fields, json) throws(JSONError) in try fields.object(&json) }
    }

    /// A list; an element of the wrong type costs that element.
    private mutating func list<Element>(
        _ json: inout JSONReader,
        _ element: (inout FieldReader, inout JSONReader) throws(JSONError) -> Element?
    ) throws(JSONError) -> [Element] {
        guard try isNext(.array, &json, "is not a list") else { return [] }
        let (list, outer) = (name, elementName)
        defer { elementName = outer }
        var elements: [Element] = []
        var index = 0
        try json.readArray { (json) throws(JSONError) in
            elementName = "\(list)[\(index)]"
            index &+= 1
            if let element = try element(&self, &json) { elements.append(element) }
        }
        return elements
    }

    mutating func object<Object: PayloadObject>(_ json: inout JSONReader) throws(JSONError) -> Object? {
        guard try isNext(.object, &json, "is not an object") else { return nil }
        let outer = (path, key, elementName)
        defer { (path, key, elementName) = outer }
        path += "\(name)."
        elementName = nil
        var object = Object()
        try readMembers(of: &object, &json)
        return object
    }

    /// Passes over a member that is not known.
    mutating func skipUnknown(_ json: inout JSONReader) throws(JSONError) {
        guard seen != nil else { return try json.skip() }
        let value = try json.readValue()
        var writer = JSONWriter()
        writer.value(value)
        show(value.string ?? writer.text, isKnown: false)
    }

    // MARK: Pieces

    /// Whether a value of the wanted kind comes next; everything else is passed over, and is worth a warning unless it
    /// is null.
    private mutating func isNext(
        _ wanted: JSONReader.Kind, _ json: inout JSONReader, _ problem: String
    ) throws(JSONError) -> Bool {
        let found = try json.peek()
        if found == wanted { return true }
        try json.skip()
        if found != .null { warn(problem) }
        return false
    }

    private mutating func show(_ value: String, meaning: String? = nil, isKnown: Bool = true) {
        guard seen != nil else { return }
        let field = PayloadField(name: path + name, value: value, meaning: meaning, isKnown: isKnown)
        seen?.append(field)
    }

    private static func units(ofThousandths value: Int64) -> String {
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: 1000)
        let digits = String(1000 + rest).dropFirst()
        return "\(value < 0 ? "-" : "")\(whole).\(digits)"
    }

    /// From the year -9999 to 9999; what is beyond is damage, and arithmetic with it means nothing.
    private static let years: ClosedRange<Int64> = -377_705_116_800_000...253_402_300_799_999
}
