package import JSON

/// What an app asks of the Advanced Commerce API by way of StoreKit. Only a request that keeps Apple's rules can be
/// made; `operation` and `version` are always in it.
package struct AdvancedCommerceRequest: Sendable, Hashable {
    package enum Operation: String, Sendable, CaseIterable {
        case createOneTimeCharge = "CREATE_ONE_TIME_CHARGE"
        case createSubscription = "CREATE_SUBSCRIPTION"
        case modifySubscription = "MODIFY_SUBSCRIPTION"
        case reactivateSubscription = "REACTIVATE_SUBSCRIPTION"
    }

    package let operation: Operation
    /// The request as it is sent.
    package let value: JSONValue

    /// Reads and checks a request; `operation` says which one it is.
    package init(_ value: JSONValue) throws(OfferError) {
        guard let operation = value["operation"]?.string.flatMap(Operation.init) else {
            let names = Operation.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(field: "operation", "it must be \(names)")
        }
        self.operation = operation
        self.value = try OfferShape.object(operation.fields).checked(value)
    }

    /// The JSON text that is signed.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }
}

extension AdvancedCommerceRequest.Operation {
    fileprivate var fields: [OfferField] {
        let head: [OfferField] = [
            .constant("operation", rawValue), .constant("version", "1"), .required("requestInfo", Self.requestInfo),
        ]
        return switch self {
        case .createOneTimeCharge:
            head + [
                .required("currency", .currency), .required("item", .object(Self.item + [Self.price])),
                .required("taxCode", .identifier), .optional("storefront", .identifier),
            ]
        case .createSubscription:
            head + [
                .required("currency", .currency), .required("descriptors", .object(Self.names)),
                .required("items", .list(Self.item + [Self.price, Self.offer])),
                .required("period", Self.period), .required("taxCode", .identifier),
                .optional("previousTransactionId", .identifier), .optional("storefront", .identifier),
            ]
        case .modifySubscription:
            head + [
                .required("transactionId", .identifier), .required("retainBillingCycle", .bool),
                .optional(
                    "addItems",
                    .list(Self.item + [Self.price, Self.offer, .optional("proratedPrice", .milliunits)])),
                .optional("changeItems", .list(Self.change)),
                .optional("currency", .currency),
                .optional(
                    "descriptors",
                    .object([Self.effective] + Self.names.map { .optional($0.name, $0.shape) })),
                .optional("periodChange", .object([Self.effective, .required("period", Self.period)])),
                .optional("removeItems", .list([Self.sku])), .optional("storefront", .identifier),
                .optional("taxCode", .identifier),
            ]
        case .reactivateSubscription:
            head + [
                .required("transactionId", .identifier), .optional("items", .list([Self.sku])),
                .optional("storefront", .identifier),
            ]
        }
    }

    private static let requestInfo = OfferShape.object([
        .required("requestReferenceId", .uuid), .optional("appAccountToken", .uuid),
        .optional("consistencyToken", .text(limit: 4096)),
    ])
    private static let sku = OfferField.required("SKU", .text(limit: 128))
    private static let names: [OfferField] = [
        .required("description", .text(limit: 45)), .required("displayName", .text(limit: 30)),
    ]
    private static let item = [sku] + names
    private static let price = OfferField.required("price", .milliunits)
    private static let period = OfferShape.choice(["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"])
    private static let effective = OfferField.required(
        "effective", .choice(["IMMEDIATELY", "NEXT_BILL_CYCLE"]))
    private static let offer = OfferField.optional(
        "offer",
        .object([
            .required("period", .choice(["P3D", "P1W", "P2W", "P1M", "P2M", "P3M", "P6M", "P9M", "P1Y"])),
            .required("periodCount", .integer(1...12)), .required("price", .milliunits),
            .required("reason", .choice(["ACQUISITION", "WIN_BACK", "RETENTION"])),
        ]))
    private static let change: [OfferField] =
        [.required("currentSKU", .text(limit: 128))] + item + [
            price, .required("reason", .choice(["UPGRADE", "DOWNGRADE", "APPLY_OFFER"])), effective, offer,
            .optional("proratedPrice", .milliunits),
        ]
}
