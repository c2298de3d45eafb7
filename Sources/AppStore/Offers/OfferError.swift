/// Why an offer was not signed.
package enum OfferError: Error, Sendable, CustomStringConvertible {
    /// A field is missing or wrong; `field` is its path, such as `items[0].SKU`, or empty when it is the whole.
    case invalid(field: String, String)
    case signing(String)

    package var field: String? { if case .invalid(let field, _) = self, !field.isEmpty { field } else { nil } }

    package var sentence: String {
        switch self {
        case .invalid(_, let sentence), .signing(let sentence): sentence
        }
    }

    package var description: String { field.map { "\($0): \(sentence)" } ?? sentence }
}
