package import JSON
internal import Time

/// What the members of the Server API's answers mean that are not signed: dates and numbers, read by the same code as
/// those of signed payloads.
package enum AnswerMember {
    /// The member as it was read; nil where there is no more to say than it says itself.
    package static func field(_ name: String, _ value: JSONValue, of endpoint: ServerAPIEndpoint) -> PayloadField? {
        var json = JSONWriter()
        json.beginObject()
        json.member(name, value)
        json.endObject()
        let fields =
            endpoint == .order
            ? try? FieldReader.fields(of: json.bytes, as: OrderMembers.self)
            : try? FieldReader.fields(of: json.bytes, as: AnswerMembers.self)
        return fields?.first { $0.meaning != nil || !$0.isKnown }
    }
}

/// Apple's `status` of a looked-up order.
package enum OrderLookupStatus: Int64, Vocabulary {
    case valid = 0
    case invalid = 1
}

private struct AnswerMembers: PayloadObject {
    enum Member: String, CaseIterable { case status, effectiveDate, completeDate, attemptDate }
    static let names = NameTable<Member>()

    mutating func read(
        _ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader
    ) throws(JSONError) {
        switch member {
        case .status: let _: Raw<SubscriptionStatus>? = try fields.value(&json)
        case .effectiveDate, .completeDate, .attemptDate: _ = try fields.date(&json)
        }
    }

    mutating func readUnknown(_ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        try json.skip()
    }
}

private struct OrderMembers: PayloadObject {
    enum Member: String, CaseIterable { case status }
    static let names = NameTable<Member>()

    mutating func read(
        _ member: Member, _ json: inout JSONReader, _ fields: inout FieldReader
    ) throws(JSONError) {
        switch member {
        case .status: let _: Raw<OrderLookupStatus>? = try fields.value(&json)
        }
    }

    mutating func readUnknown(_ json: inout JSONReader, _ fields: inout FieldReader) throws(JSONError) {
        try json.skip()
    }
}
