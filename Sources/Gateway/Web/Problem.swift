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
        case malformedRequest = "malformed-request"
        case refusedTransaction = "refused-transaction"
        case claimRefused = "claim-refused"
        case unknownLineage = "unknown-lineage"
        case busy
        case cannotStore = "cannot-store"
        case storeUnreachable = "store-unreachable"
        case customerNotKnownNow = "customer-not-known-now"

        var status: Int {
            switch self {
            case .notFound, .unknownApp, .unknownLineage: 404
            case .methodNotAllowed: 405
            case .badPath, .badCustomer, .badParameter, .malformedNotification, .malformedRequest: 400
            case .unauthenticated: 401
            case .missingScope, .refusedNotification: 403
            case .claimRefused: 409
            case .refusedTransaction: 422
            case .busy, .cannotStore, .storeUnreachable, .customerNotKnownNow: 503
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
            case .malformedRequest: "The body cannot be read"
            case .refusedTransaction: "Something in the body is not to be used"
            case .claimRefused: "The purchase stays with somebody else"
            case .unknownLineage: "There is no such purchase"
            case .busy: "Too much is going on"
            case .cannotStore: "It cannot be stored now"
            case .storeUnreachable: "The store cannot be reached"
            case .customerNotKnownNow: "The customer is not known at this moment"
            }
        }
    }

    package var name: Name
    package var detail: String
    /// The query parameter that it is about.
    package var parameter: String?
    /// The member of the body that it is about.
    package var field: String?
    /// What exactly: a stable word.
    package var code: String?
    package var headers: [String: String] = [:]

    package init(
        _ name: Name, _ detail: String, parameter: String? = nil, field: String? = nil, code: String? = nil,
        headers: [String: String] = [:]
    ) {
        self.name = name
        self.detail = detail
        self.parameter = parameter
        self.field = field
        self.code = code
        self.headers = headers
    }

    package var type: String { "urn:holdfast:problem:\(name.rawValue)" }

    /// The answer, with `correlation` to ask about it by, and `more` members that somebody else wrote.
    package func response(correlation: String, more: [UInt8] = []) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", type)
        json.member("title", name.title)
        json.member("status", name.status)
        json.member("detail", detail)
        if let parameter { json.member("parameter", parameter) }
        if let field { json.member("field", field) }
        if let code { json.member("code", code) }
        json.member("correlation", correlation)
        json.fragment(more)
        json.endObject()
        var response = HTTPResponse(
            status: name.status, contentType: "application/problem+json", body: json.bytes)
        response.headers.append("Correlation-ID", correlation)
        response.headers.append("Cache-Control", "no-store")
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { response.headers.append(name, value) }
        return response
    }
}
