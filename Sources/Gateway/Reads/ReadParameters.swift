internal import Entitlements
internal import HTTP

/// What a read may ask for; everything else is named, so that a typing error does not pass for the default.
enum ReadParameters {
    static let customerBytes = 256

    /// `production` or `sandbox`; production when nothing is said (ruling 8).
    static func environment(_ query: String?) throws(ProblemError) -> StoreEnvironment {
        var environment: StoreEnvironment?
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // Neither the name nor the values need escapes, so none is undone.
            guard parts[0] == "environment" else {
                throw bad(String(parts[0]), "There is no such parameter here. There is: environment.")
            }
            guard environment == nil else { throw bad("environment", "It may be given once.") }
            guard parts.count == 2, let value = StoreEnvironment(rawValue: String(parts[1])) else {
                throw bad("environment", "It is production or sandbox.")
            }
            environment = value
        }
        return environment ?? .production
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
