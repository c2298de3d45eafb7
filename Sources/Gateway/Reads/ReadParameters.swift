internal import Entitlements
internal import HTTP
internal import Time

/// What a read may ask for; everything else is named, so that a typing error does not pass for the default.
struct ReadParameters {
    static let customerBytes = 256

    enum Name: String, CaseIterable {
        case environment, at, entitlement
    }

    /// `production` or `sandbox`; production when nothing is said (ruling 8).
    private(set) var environment = StoreEnvironment.production
    /// What is known now, as it is or was then (ruling 7); nil for now.
    private(set) var instant: Timestamp?
    private(set) var entitlement: String?

    /// Reads the query; only `allowed` may stand in it, each once.
    init(_ head: HTTPRequestHead, allowed: Set<Name>) throws(ProblemError) {
        var seen: Set<Name> = []
        for pair in (head.query ?? "").split(separator: "&") {
            let text = String(pair.prefix { $0 != "=" })
            guard let name = Name(rawValue: text), allowed.contains(name) else {
                let known = Name.allCases.filter(allowed.contains).map(\.rawValue).joined(separator: ", ")
                throw Self.bad(text, "There is no such parameter here. There is: \(known).")
            }
            guard seen.insert(name).inserted else { throw Self.bad(text, "It may be given once.") }
            guard let value = head.queryValue(text) else { throw Self.bad(text, "It is not UTF-8.") }
            try set(name, value)
        }
    }

    private mutating func set(_ name: Name, _ value: String) throws(ProblemError) {
        switch name {
        case .environment:
            guard let environment = StoreEnvironment(rawValue: value) else {
                throw Self.bad("environment", "It is production or sandbox.")
            }
            self.environment = environment
        case .at:
            guard let instant = Timestamp(rfc3339: value) else {
                throw Self.bad("at", "It is a time as in RFC 3339, such as 2026-11-30T12:00:00Z.")
            }
            self.instant = instant
        case .entitlement:
            guard 1...Self.customerBytes ~= value.utf8.count else {
                throw Self.bad("entitlement", "It is the id of an entitlement, as the product map has it.")
            }
            entitlement = value
        }
    }

    /// A backend's own id, or an `appAccountToken`: 1 to 256 bytes of UTF-8 without control characters.
    static func checked(customer: String) throws(ProblemError) -> String {
        guard 1...customerBytes ~= customer.utf8.count else {
            throw ProblemError(problem: Problem(.badCustomer, "A customer id has 1 to \(customerBytes) bytes."))
        }
        guard customer.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw ProblemError(problem: Problem(.badCustomer, "A customer id has no control characters."))
        }
        return customer
    }

    private static func bad(_ parameter: String, _ detail: String) -> ProblemError {
        ProblemError(problem: Problem(.badParameter, detail, parameter: String(parameter.prefix(64))))
    }
}
