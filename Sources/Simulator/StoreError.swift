/// Why the store refuses what it was asked to do.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case unknownAccount, unknownProduct, unknownTransaction, unknownOffer, invalidAccount, accountExists
        case notSubscribed, alreadySubscribed, alreadyOwned, billingProblem, notEligible
    }

    package let code: Code
    /// The input that is to blame, as the control API names it.
    package let field: String
    package let detail: String

    init(_ code: Code, _ field: String, _ detail: String) {
        self.code = code
        self.field = field
        self.detail = detail
    }

    package var description: String { "\(code.rawValue): \(detail)" }
}
