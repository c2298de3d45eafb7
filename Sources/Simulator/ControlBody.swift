internal import JSON

/// What is wrong with a request to the control API.
struct ControlProblem: Error, Sendable, Hashable {
    var status = 400
    var code = "invalid-request"
    /// The member of the body, or the part of the path, to blame.
    var field: String?
    var detail: String

    init(status: Int = 400, code: String = "invalid-request", field: String? = nil, _ detail: String) {
        self.status = status
        self.code = code
        self.field = field
        self.detail = detail
    }

    init(_ error: StoreError) {
        let status =
            switch error.code {
            case .unknownAccount, .unknownTransaction: 404
            case .unknownProduct, .unknownOffer, .invalidAccount: 400
            case .accountExists, .notSubscribed, .alreadySubscribed, .alreadyOwned, .billingProblem, .notEligible: 409
            }
        self.init(status: status, code: error.code.rawValue, field: error.field, error.detail)
    }
}

/// A JSON object whose members are taken one by one; what is left over is a mistake.
struct ControlBody {
    private let members: JSONObject
    private var known: Set<String> = []
    private let path: String

    /// An empty body is an empty object.
    init(_ bytes: [UInt8]) throws(ControlProblem) {
        path = ""
        guard !bytes.isEmpty else {
            members = JSONObject()
            return
        }
        let value: JSONValue
        do { value = try JSONValue.parse(bytes) } catch { throw ControlProblem("the body is not JSON: \(error)") }
        guard let object = value.object else { throw ControlProblem("the body is not a JSON object") }
        members = object
    }

    private init(_ members: JSONObject, path: String) {
        self.members = members
        self.path = path
    }

    mutating func object(_ key: String) throws(ControlProblem) -> ControlBody? {
        guard let value = take(key) else { return nil }
        guard let object = value.object else { throw problem(key, "must be an object") }
        return ControlBody(object, path: "\(path)\(key).")
    }

    mutating func string(_ key: String) throws(ControlProblem) -> String? {
        guard let value = take(key) else { return nil }
        guard let string = value.string, !string.isEmpty else { throw problem(key, "must be a text that is not empty") }
        return string
    }

    mutating func required(_ key: String) throws(ControlProblem) -> String {
        guard let string = try string(key) else { throw problem(key, "is missing") }
        return string
    }

    mutating func bool(_ key: String) throws(ControlProblem) -> Bool? {
        guard let value = take(key) else { return nil }
        guard let bool = value.bool else { throw problem(key, "must be true or false") }
        return bool
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(ControlProblem) -> Int? {
        guard let value = take(key) else { return nil }
        guard let integer = value.int64, let number = Int(exactly: integer), range.contains(number) else {
            throw problem(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func number(_ key: String, in range: ClosedRange<Double>) throws(ControlProblem) -> Double? {
        guard let value = take(key) else { return nil }
        guard let number = value.double, range.contains(number) else {
            throw problem(key, "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func strings(_ key: String, atMost limit: Int) throws(ControlProblem) -> [String]? {
        try list(key, atMost: limit, "a text") { _, value in value.string }
    }

    mutating func objects(_ key: String, atMost limit: Int) throws(ControlProblem) -> [ControlBody]? {
        let path = path
        return try list(key, atMost: limit, "an object") { index, value in
            value.object.map { ControlBody($0, path: "\(path)\(key)[\(index)].") }
        }
    }

    private mutating func list<Element>(
        _ key: String, atMost limit: Int, _ kind: String, _ read: (Int, JSONValue) -> Element?
    ) throws(ControlProblem) -> [Element]? {
        guard let value = take(key) else { return nil }
        guard let array = value.array, array.count <= limit else {
            throw problem(key, "must be a list of at most \(limit)")
        }
        var elements: [Element] = []
        for (index, value) in array.enumerated() {
            guard let element = read(index, value) else { throw problem("\(key)[\(index)]", "must be \(kind)") }
            elements.append(element)
        }
        return elements
    }

    /// Refuses members that nobody asked for: a misspelt one must not be passed over.
    func finish() throws(ControlProblem) {
        guard let unknown = members.keys.first(where: { !known.contains($0) }) else { return }
        let names = known.sorted().joined(separator: ", ")
        throw problem(unknown, names.isEmpty ? "is unknown; none is taken" : "is unknown; there are \(names)")
    }

    private mutating func take(_ key: String) -> JSONValue? {
        known.insert(key)
        guard let value = members[key], !value.isNull else { return nil }
        return value
    }

    private func problem(_ key: String, _ detail: String) -> ControlProblem {
        ControlProblem(field: path + key, "\(path)\(key) \(detail)")
    }
}
