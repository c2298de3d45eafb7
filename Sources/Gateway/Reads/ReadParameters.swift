internal import Entitlements
internal import HTTP
internal import Time

/// What a read may ask for; everything else is named, so that a typing error does not pass for the default.
struct ReadParameters {
    static let parameterBytes = 256
    static let maximumLimit = 1000

    enum Name: String, CaseIterable {
        case environment, at, refresh, entitlement, history, dryRun, force, after, limit
    }

    /// `production` or `sandbox`; nil when nothing is said.
    private(set) var namedEnvironment: StoreEnvironment?
    /// Production when nothing is said (ruling 8).
    var environment: StoreEnvironment { namedEnvironment ?? .production }
    /// What is known now, as it is or was then (ruling 7); nil for now.
    private(set) var instant: Timestamp?
    private(set) var entitlement: String?
    /// Whether Apple is to be asked first.
    private(set) var isRefresh = false
    /// Whether to tell what happened, too.
    private(set) var tellsHistory = false
    /// Whether to say what would be, and to do nothing.
    private(set) var isDryRun = false
    /// Whether to go past the app's policy.
    private(set) var isForced = false
    /// Where a list goes on: what the page before said.
    private(set) var after: String?
    /// How many of a list.
    private(set) var limit = 100

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
            namedEnvironment = environment
        case .at:
            guard let instant = Timestamp(rfc3339: value) else {
                throw Self.bad("at", "It is a time as in RFC 3339, such as 2026-11-30T12:00:00Z.")
            }
            self.instant = instant
        case .entitlement:
            guard 1...Self.parameterBytes ~= value.utf8.count else {
                throw Self.bad("entitlement", "It is the id of an entitlement, as the product map has it.")
            }
            entitlement = value
        case .refresh: isRefresh = try Self.boolean(name, value)
        case .history: tellsHistory = try Self.boolean(name, value)
        case .dryRun: isDryRun = try Self.boolean(name, value)
        case .force: isForced = try Self.boolean(name, value)
        case .after:
            guard 1...Self.parameterBytes ~= value.utf8.count else {
                throw Self.bad("after", "It is what the page before gave as `next`.")
            }
            after = value
        case .limit:
            guard let number = Int(value), 1...Self.maximumLimit ~= number else {
                throw Self.bad("limit", "It is a whole number from 1 to \(Self.maximumLimit).")
            }
            limit = number
        }
    }

    private static func boolean(_ name: Name, _ value: String) throws(ProblemError) -> Bool {
        guard let truth = Bool(value) else { throw bad(name.rawValue, "It is true or false.") }
        return truth
    }

    /// A backend's own id, or an `appAccountToken`: 1 to 256 bytes of UTF-8 without control characters.
    static func checked(customer: String) throws(ProblemError) -> String {
        if let mistake = CustomerID.mistake(in: customer) {
            throw ProblemError(problem: Problem(.badCustomer, mistake))
        }
        return customer
    }

    private static func bad(_ parameter: String, _ detail: String) -> ProblemError {
        ProblemError(problem: Problem(.badParameter, detail, parameter: String(parameter.prefix(64))))
    }
}
