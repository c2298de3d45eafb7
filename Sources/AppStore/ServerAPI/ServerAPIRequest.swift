internal import JSON

/// One call, checked against the endpoint's table and ready to be sent to either environment.
package struct ServerAPIRequest: Sendable, Hashable {
    package struct Value: Sendable, Hashable {
        package let name: String
        package let text: String
        package init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    package let endpoint: ServerAPIEndpoint
    /// As Apple wants them: dates as milliseconds, UUIDs in lower case; in the order of the table.
    package let values: [Value]

    /// Checks `values` against the endpoint's table; `invalidRequest` names the parameter and what it must be.
    package init(_ endpoint: ServerAPIEndpoint, _ values: [Value]) throws(ServerAPIFailure) {
        var checked: [Value] = []
        for field in endpoint.fields {
            var given = values.filter { $0.name == field.name }
            if given.isEmpty, field.kind == .uuidOrEmpty { given = [Value(field.name, "")] }
            if given.isEmpty, field.isRequired {
                throw ServerAPIFailure(.invalidRequest, endpoint, "\(field.name) is needed: \(field.expectation)")
            }
            if given.count > 1, !field.repeats {
                throw ServerAPIFailure(.invalidRequest, endpoint, "\(field.name) was given more than once")
            }
            for value in given {
                guard let text = field.normalised(value.text) else {
                    throw ServerAPIFailure(
                        .invalidRequest, endpoint,
                        "\(field.name) must be \(field.expectation), not \(quoted(value.text))")
                }
                checked.append(Value(field.name, text))
            }
        }
        for value in values where !endpoint.fields.contains(where: { $0.name == value.name }) {
            throw ServerAPIFailure(
                .invalidRequest, endpoint, "\(endpoint.name) has no parameter \(quoted(value.name))")
        }
        self.endpoint = endpoint
        self.values = checked
        try checkTogether()
    }

    /// The same call with another value for `name`, which the table knows.
    func setting(_ name: String, to text: String) throws(ServerAPIFailure) -> ServerAPIRequest {
        try ServerAPIRequest(endpoint, values.filter { $0.name != name } + [Value(name, text)])
    }

    func value(_ name: String) -> String? { values.first { $0.name == name }?.text }

    private func checkTogether() throws(ServerAPIFailure) {
        if let start = value("startDate").flatMap({ Int64($0) }), let end = value("endDate").flatMap({ Int64($0) }),
            start > end
        {
            throw ServerAPIFailure(.invalidRequest, endpoint, "startDate is after endDate")
        }
        guard endpoint == .notifications else { return }
        if value("notificationSubtype") != nil, value("notificationType") == nil {
            throw ServerAPIFailure(.invalidRequest, endpoint, "notificationSubtype goes with a notificationType")
        }
        if value("transactionId") != nil, value("notificationType") != nil {
            throw ServerAPIFailure(
                .invalidRequest, endpoint, "Apple takes either transactionId or notificationType, not both")
        }
    }

    // MARK: On the wire

    /// Path and query, escaped.
    package var target: String {
        var path = endpoint.path
        var query: [String] = []
        for field in endpoint.fields {
            for value in values where value.name == field.name {
                switch field.place {
                case .path: path = Self.replacing("{\(field.name)}", in: path, by: Self.escaped(value.text))
                case .query: query.append("\(field.name)=\(Self.escaped(value.text))")
                case .body: break
                }
            }
        }
        return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
    }

    /// A JSON object; nil where Apple wants no body.
    package var body: [UInt8]? {
        let fields = endpoint.fields.filter { $0.place == .body }
        guard !fields.isEmpty else { return nil }
        var json = JSONWriter()
        json.beginObject()
        for field in fields {
            let given = values.filter { $0.name == field.name }
            if field.repeats, !given.isEmpty {
                json.array(field.name, given) { json, value in json.string(value.text) }
            } else if let value = given.first {
                switch field.kind {
                case .integer, .date: json.member(field.name, Int64(value.text))
                case .boolean: json.member(field.name, value.text == "true")
                case .text, .requestIdentifier, .uuid, .uuidOrEmpty, .choice: json.member(field.name, value.text)
                }
            }
        }
        json.endObject()
        return json.bytes
    }

    private static func replacing(_ mark: String, in text: String, by value: String) -> String {
        guard let start = text.firstIndex(of: "{") else { return text }
        // Values are put in from left to right, in the table's order, so the first mark is the one meant; and a value
        // cannot look like a mark, because its braces are escaped.
        guard text[start...].hasPrefix(mark) else { return text }
        return text[..<start] + value + text[start...].dropFirst(mark.count)
    }

    /// Everything but RFC 3986's unreserved characters becomes `%XX`.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)
}
