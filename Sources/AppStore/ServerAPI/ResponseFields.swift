internal import JSON
internal import Time

/// Takes members out of an answer so that a wrong type costs only that member; null counts as absent.
struct ResponseFields {
    private let object: JSONObject
    private let prefix: String
    private(set) var warnings: [PayloadWarning] = []

    init(_ object: JSONObject, prefix: String = "") {
        self.object = object
        self.prefix = prefix
    }

    mutating func string(_ name: String) -> String? { take(name, "is not a text") { $0.string } }
    mutating func bool(_ name: String) -> Bool? { take(name, "is neither true nor false") { $0.bool } }
    mutating func integer(_ name: String) -> Int64? { take(name, "is not a 64-bit integer") { $0.int64 } }

    /// Milliseconds since 1970, fractions cut off.
    mutating func date(_ name: String) -> Timestamp? {
        take(name, "is not a date in milliseconds") { value in
            let milliseconds = value.int64 ?? value.double.flatMap { Int64(exactly: $0.rounded(.down)) }
            return milliseconds.flatMap { Self.years.contains($0) ? Timestamp(milliseconds: $0) : nil }
        }
    }

    mutating func strings(_ name: String) -> [String] {
        let elements = take(name, "is not a list") { $0.array } ?? []
        let texts = elements.compactMap(\.string)
        if texts.count < elements.count { warn(name, "has elements that are no texts") }
        return texts
    }

    /// The objects of a list, each read by `body`; what is no object is left out with a warning.
    mutating func objects<Element>(_ name: String, _ body: (inout ResponseFields) -> Element) -> [Element] {
        let elements = take(name, "is not a list") { $0.array } ?? []
        var read: [Element] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                warn("\(name)[\(index)]", "is not an object")
                continue
            }
            var inner = ResponseFields(object, prefix: "\(prefix)\(name)[\(index)].")
            read.append(body(&inner))
            warnings += inner.warnings
        }
        return read
    }

    private mutating func take<Value>(_ name: String, _ problem: String, _ read: (JSONValue) -> Value?) -> Value? {
        guard let value = object[name], !value.isNull else { return nil }
        if let value = read(value) { return value }
        warn(name, problem)
        return nil
    }

    private mutating func warn(_ name: String, _ problem: String) {
        warnings.append(PayloadWarning(field: prefix + name, problem: problem))
    }

    private static let years: ClosedRange<Int64> = -377_705_116_800_000...253_402_300_799_999
}
