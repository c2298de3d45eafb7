/// What the id of a customer may be, wherever one comes in: it stands in URLs, in keys and in logs.
package enum CustomerID {
    package static let maximumBytes = 256

    /// What is wrong with it, as a sentence; nil when nothing is.
    package static func mistake(in id: String) -> String? {
        guard 1...maximumBytes ~= id.utf8.count else { return "A customer id has 1 to \(maximumBytes) bytes." }
        guard id.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            return "A customer id has no control characters."
        }
        // A path that ends in one of these means another path.
        guard id != ".", id != ".." else { return "A customer id is not a dot or two." }
        return nil
    }
}
