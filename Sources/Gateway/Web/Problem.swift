package import HTTP
internal import JSON

/// Says what is wrong with a request, as RFC 9457 has it. The `type`s are stable; sentences may change.
package struct Problem: Sendable, Hashable {
    /// The stable names: a `type` is `urn:holdfast:problem:` and one of these.
    package enum Name: String, Sendable, CaseIterable {
        case notFound = "not-found"
        case unknownApp = "unknown-app"
        case methodNotAllowed = "method-not-allowed"
        case badPath = "bad-path"
        case badCustomer = "bad-customer"
        case badParameter = "bad-parameter"
        case unauthenticated
        case missingScope = "missing-scope"
        case malformedNotification = "malformed-notification"
        case refusedNotification = "refused-notification"
        case busy
        case cannotStore = "cannot-store"
        case storeUnreachable = "store-unreachable"

        var status: Int {
            switch self {
            case .notFound, .unknownApp: 404
            case .methodNotAllowed: 405
            case .badPath, .badCustomer, .badParameter, .malformedNotification: 400
            case .unauthenticated: 401
            case .missingScope, .refusedNotification: 403
            case .busy, .cannotStore, .storeUnreachable: 503
            }
        }

        var title: String {
            switch self {
            case .notFound: "There is nothing here"
            case .unknownApp: "There is no such app"
            case .methodNotAllowed: "The method is not allowed here"
            case .badPath: "The path cannot be read"
            case .badCustomer: "The customer id is not valid"
            case .badParameter: "A query parameter is not valid"
            case .unauthenticated: "A valid key is needed"
            case .missingScope: "The key does not allow this"
            case .malformedNotification: "The notification cannot be read"
            case .refusedNotification: "The notification is not Apple's"
            case .busy: "Too much is going on"
            case .cannotStore: "The notification cannot be stored now"
            case .storeUnreachable: "The store cannot be reached"
            }
        }
    }

    package var name: Name
    package var detail: String
    /// The query parameter that it is about.
    package var parameter: String?
    package var headers: [String: String] = [:]

    package init(_ name: Name, _ detail: String, parameter: String? = nil, headers: [String: String] = [:]) {
        self.name = name
        self.detail = detail
        self.parameter = parameter
        self.headers = headers
    }

    package var type: String { "urn:holdfast:problem:\(name.rawValue)" }

    /// The answer, with `correlation` to ask about it by.
    package func response(correlation: String) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", type)
        json.member("title", name.title)
        json.member("status", name.status)
        json.member("detail", detail)
        if let parameter { json.member("parameter", parameter) }
        json.member("correlation", correlation)
        json.endObject()
        var response = HTTPResponse(
            status: name.status, contentType: "application/problem+json", body: json.bytes)
        response.headers.append("Correlation-ID", correlation)
        response.headers.append("Cache-Control", "no-store")
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { response.headers.append(name, value) }
        return response
    }
}
