package import Time

/// A receipt of one transaction as iOS 6 made them (`SKPaymentTransaction.transactionReceipt`): a property list of the old
/// kind, with another one in base64 inside. Apple never said how to check its signature, so it is never verified.
package struct TransactionReceipt: Sendable, Hashable {
    /// The inner list, in its order.
    package let fields: [Field]
    package let environment: String?

    package struct Field: Sendable, Hashable {
        package let key: String
        package let value: String
    }

    /// Nil unless `text` is such a list with a readable `purchase-info` in it.
    init?(text: ArraySlice<UInt8>) {
        let outer = Self.fields(of: text)
        guard let info = outer.first(where: { $0.key == "purchase-info" })?.value,
            let inner = Base64.decode(info)
        else { return nil }
        fields = Self.fields(of: inner[...])
        environment = outer.first { $0.key == "environment" }?.value
        guard !fields.isEmpty else { return nil }
    }

    package subscript(key: String) -> String? { fields.first { $0.key == key }?.value }

    package var transactionID: String? { self["transaction-id"].flatMap { $0.isEmpty ? nil : $0 } }
    package var originalTransactionID: String? { self["original-transaction-id"] }
    package var productID: String? { self["product-id"] }
    package var bundleID: String? { self["bid"] }
    package var purchaseDate: Timestamp? {
        self["purchase-date-ms"].flatMap { Int64($0) }.map(Timestamp.init(milliseconds:))
    }

    private static let limit = 256

    /// All `"key" = "value";` in `text`.
    private static func fields(of text: ArraySlice<UInt8>) -> [Field] {
        var fields: [Field] = []
        var rest = text
        func skipSpace() { rest = rest.drop { $0 == 0x20 || 9...13 ~= $0 } }
        func quoted() -> String? {
            guard rest.first == UInt8(ascii: "\"") else { return nil }
            let body = rest.dropFirst()
            guard let end = body.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            rest = body[end...].dropFirst()
            return String(validating: body[..<end], as: UTF8.self)
        }
        while fields.count < limit, let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[start...]
            guard let key = quoted() else { return fields }
            skipSpace()
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst()
            skipSpace()
            guard let value = quoted() else { return fields }
            fields.append(Field(key: key, value: value))
        }
        return fields
    }
}
