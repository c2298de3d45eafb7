internal import JSON
package import Time

/// A bad time of the store's Server API: what happens to requests, to which endpoints, from when until when.
package struct APIOutage: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Requests are taken and never answered.
        case hang
        /// The connection is closed in place of an answer.
        case reset
        /// Answered with `status` and no body.
        case error
        /// Answered after `milliseconds`.
        case slow
    }

    package var kind: Kind
    /// None named means all.
    package var endpoints: Set<ServerAPIRoute.Endpoint> = []
    package var status = 500
    package var milliseconds = 6000
    /// Of a hundred requests, so many fare so.
    package var percent = 100.0
    /// By this machine's clock; nil begins at once.
    package var from: Timestamp?
    /// Nil ends with the next change of behaviour.
    package var until: Timestamp?

    package init(_ kind: Kind, endpoints: Set<ServerAPIRoute.Endpoint> = []) {
        self.kind = kind
        self.endpoints = endpoints
    }

    /// `endpoint` is nil for a path that there is no endpoint at.
    func concerns(_ endpoint: ServerAPIRoute.Endpoint?, at now: Timestamp) -> Bool {
        if let from, now < from { return false }
        if let until, now >= until { return false }
        return endpoints.isEmpty || endpoint.map(endpoints.contains) ?? false
    }
}

extension APIOutage {
    static let maximumCount = 32

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("kind", kind.rawValue)
        json.array("endpoints", endpoints.map(\.rawValue).sorted()) { $0.string($1) }
        json.member("status", status)
        json.member("milliseconds", milliseconds)
        json.member("percent", JSONValue.number(percent))
        json.member("from", from?.rfc3339)
        json.member("until", until?.rfc3339)
        json.endObject()
    }

    /// `inSeconds` and `forSeconds` count from `now`.
    init(_ body: inout ControlBody, now: Timestamp) throws(ControlProblem) {
        guard let kind = Kind(rawValue: try body.required("kind")) else {
            throw ControlProblem(field: "kind", Kind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self.init(kind)
        for name in try body.strings("endpoints", atMost: ServerAPIRoute.Endpoint.allCases.count) ?? [] {
            guard let endpoint = ServerAPIRoute.Endpoint(rawValue: name) else {
                let names = ServerAPIRoute.Endpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw ControlProblem(field: "endpoints", "there is no \(name); there are \(names)")
            }
            endpoints.insert(endpoint)
        }
        status = try body.integer("status", in: 400...599) ?? status
        milliseconds = try body.integer("milliseconds", in: 0...600_000) ?? milliseconds
        percent = try body.number("percent", in: 0...100) ?? percent
        let begins = try body.number("inSeconds", in: 0...86_400).map { now + .seconds($0) }
        from = begins
        until = try body.number("forSeconds", in: 0...86_400).map { (begins ?? now) + .seconds($0) }
        try body.finish()
    }
}
