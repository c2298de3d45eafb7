internal import JSON
internal import Runtime

/// What a JSON value in a request must look like. The tables made of it name each field once, with its limits, and
/// checking against them says which field is wrong.
enum OfferShape: Sendable {
    /// Text of 1 to `limit` characters, counted as UTF-16 does: of all ways of counting the one that finds the most.
    case text(limit: Int)
    case uuid
    case bool
    /// A whole number.
    case integer(ClosedRange<Int64>)
    case choice([String])
    case object([OfferField])
    /// Any object: its members are checked elsewhere.
    case anyObject
    /// A list of at least one object.
    case list([OfferField])

    /// An amount in thousandths of the currency's unit.
    static let milliunits = OfferShape.integer(0...Int64.max)
    static let identifier = OfferShape.text(limit: 256)
    /// ISO 4217.
    static let currency = OfferShape.text(limit: 3)
}

/// One member of an object.
struct OfferField: Sendable {
    let name: String
    let shape: OfferShape
    let isRequired: Bool
    /// The only value that Apple takes; filled in when it is missing.
    let constant: String?

    static func required(_ name: String, _ shape: OfferShape) -> OfferField {
        OfferField(name: name, shape: shape, isRequired: true, constant: nil)
    }

    static func optional(_ name: String, _ shape: OfferShape) -> OfferField {
        OfferField(name: name, shape: shape, isRequired: false, constant: nil)
    }

    static func constant(_ name: String, _ value: String) -> OfferField {
        OfferField(name: name, shape: .choice([value]), isRequired: false, constant: value)
    }
}

extension OfferShape {
    /// `value` as it is to be sent: constants filled in, members in the table's order, null ones left out.
    func checked(_ value: JSONValue, at path: String = "") throws(OfferError) -> JSONValue {
        switch self {
        case .text(let limit):
            guard let text = value.string else { throw .invalid(field: path, "it must be text") }
            guard !text.isEmpty else { throw .invalid(field: path, "it must not be empty") }
            guard text.utf16.count <= limit else {
                throw .invalid(field: path, "it has \(text.utf16.count) characters, \(limit) are allowed")
            }
            return value
        case .uuid:
            guard let uuid = value.string.flatMap(UUIDText.canonical) else {
                throw .invalid(field: path, "it must be a UUID, such as 0b0efcb7-5f4e-4e0c-8f2c-6a7c2b1b7f10")
            }
            return .string(uuid)
        case .bool:
            guard value.bool != nil else { throw .invalid(field: path, "it must be true or false") }
            return value
        case .integer(let range):
            guard let number = value.int64, range.contains(number) else {
                let bound =
                    range.upperBound == .max
                    ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
                throw .invalid(field: path, "it must be a whole number, \(bound)")
            }
            return .number(JSONNumber(number))
        case .choice(let values):
            guard let text = value.string, values.contains(text) else {
                throw .invalid(field: path, "it must be \(values.joined(separator: ", "))")
            }
            return value
        case .list(let fields):
            guard let elements = value.array else { throw .invalid(field: path, "it must be a list") }
            guard !elements.isEmpty else { throw .invalid(field: path, "it must have at least one element") }
            var checked: [JSONValue] = []
            for (place, one) in elements.enumerated() {
                checked.append(.object(try Self.checked(one, fields, at: "\(path)[\(place)]")))
            }
            return .array(checked)
        case .anyObject:
            guard value.object != nil else { throw .invalid(field: path, "it must be an object") }
            return value
        case .object(let fields):
            return .object(try Self.checked(value, fields, at: path))
        }
    }

    private static func checked(
        _ value: JSONValue, _ fields: [OfferField], at path: String
    ) throws(OfferError) -> JSONObject {
        guard let object = value.object else { throw .invalid(field: path, "it must be an object") }
        let prefix = path.isEmpty ? "" : path + "."
        let names = fields.map(\.name)
        for name in object.keys where !names.contains(name) {
            let shown = String(name.prefix(64))
            let nearest = NearestName.to(shown, among: names)
            throw .invalid(
                field: prefix + shown,
                "there is no such field here" + (nearest.map { "; did you mean \($0)?" } ?? ""))
        }
        var checked = JSONObject()
        for field in fields {
            let given = object[field.name].flatMap { $0.isNull ? nil : $0 } ?? field.constant.map(JSONValue.string)
            if let given {
                checked[field.name] = try field.shape.checked(given, at: prefix + field.name)
            } else if field.isRequired {
                throw .invalid(field: prefix + field.name, "it is missing")
            }
        }
        return checked
    }
}
