import JSON
package import Time

/// One thing that happened to a lineage, as its history keeps it.
///
/// Told for people, and never read by the rules: what a lineage is now follows from its facts alone.
package struct HistoryEntry: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// From one state to another, or from nothing.
        case transition
        /// Something of note without another state, such as a renewal.
        case change
        /// From one customer to another, or from nobody.
        case transfer
    }

    package var kind: Kind
    /// When it took effect: when the news was verified, or the instant that was passed.
    package var at: Timestamp
    package var cause: TransitionCause
    /// The state before; nil for a lineage that was not known.
    package var from: LineageState?
    package var to: LineageState?
    /// Whether the table of transitions does not know it.
    package var isUnexpected: Bool
    /// What else is to be said: a stable code.
    package var detail: String?
    package var productID: String?
    package var fromCustomer: String?
    package var toCustomer: String?
    /// The news that brought it: source, Apple's names, and when Apple signed it.
    package var source: Observation.Source?
    package var notificationType: String?
    package var subtype: String?
    package var notificationUUID: String?
    package var signedDate: Timestamp?

    package init(
        kind: Kind, at instant: Timestamp, cause: TransitionCause, from: LineageState? = nil, to: LineageState? = nil,
        isUnexpected: Bool = false, detail: String? = nil, productID: String? = nil, fromCustomer: String? = nil,
        toCustomer: String? = nil, news: Observation? = nil
    ) {
        self.kind = kind
        at = instant
        self.cause = cause
        self.from = from
        self.to = to
        self.isUnexpected = isUnexpected
        self.detail = detail
        self.productID = productID
        self.fromCustomer = fromCustomer
        self.toCustomer = toCustomer
        source = news?.source
        notificationType = news?.notificationType
        subtype = news?.subtype
        notificationUUID = news?.notificationUUID
        signedDate = news?.signedDate
    }

    /// One line of JSON.
    package func encoded() -> [UInt8] { RecordWriter.bytes(of: self) }

    /// Reads what `encoded` wrote; throws on anything else, a newer version's entry included.
    package init(decoding bytes: [UInt8]) throws(RecordError) {
        let value: JSONValue
        do { value = try JSONValue.parse(bytes, maximumDepth: 2) } catch {
            throw RecordError(code: .malformed, detail: "\(error)")
        }
        self = try RecordReader.read(value, named: "history")
        guard encoded() == bytes else { throw RecordError(code: .notCanonical, detail: "history") }
    }
}

extension HistoryEntry: CodedFact {
    init() { self.init(kind: .change, at: Timestamp(milliseconds: 0), cause: .other) }

    mutating func code(with coder: inout some FactCoder) {
        coder.name("kind", &kind)
        coder.field("at", &at)
        coder.name("cause", &cause)
        coder.name("from", &from)
        coder.name("to", &to)
        coder.field("unexpected", &isUnexpected)
        coder.field("detail", &detail)
        coder.field("product", &productID)
        coder.field("fromCustomer", &fromCustomer)
        coder.field("toCustomer", &toCustomer)
        coder.name("source", &source)
        coder.field("type", &notificationType)
        coder.field("subtype", &subtype)
        coder.field("uuid", &notificationUUID)
        coder.field("signed", &signedDate)
    }
}

extension FactCoder {
    /// A value of an enumeration by its name. One that is not known is left as it was, so the entry comes out with
    /// other bytes and is refused.
    fileprivate mutating func name<Value: RawRepresentable<String>>(_ key: String, _ value: inout Value) {
        var name = value.rawValue
        field(key, &name)
        value = Value(rawValue: name) ?? value
    }

    fileprivate mutating func name<Value: RawRepresentable<String>>(_ key: String, _ value: inout Value?) {
        var name = value?.rawValue
        field(key, &name)
        value = name.flatMap(Value.init)
    }
}
