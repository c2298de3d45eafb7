package import JSON
package import Time

/// What an app needs a signature for before it offers a purchase.
package enum OfferRequest: Sendable, Hashable {
    case promotionalOffer(PromotionalOffer)
    case promotionalOfferV2(PromotionalOfferV2)
    case introductoryOffer(IntroductoryOfferEligibility)
    case advancedCommerce(AdvancedCommerceRequest)

    /// As commands and the HTTP route call them.
    package enum Kind: String, Sendable, CaseIterable {
        case promotionalOffer = "promotional-offer"
        case promotionalOfferV2 = "promotional-offer-v2"
        case introductoryOffer = "introductory-offer"
        case advancedCommerce = "advanced-commerce"
    }

    package var kind: Kind {
        switch self {
        case .promotionalOffer: .promotionalOffer
        case .promotionalOfferV2: .promotionalOfferV2
        case .introductoryOffer: .introductoryOffer
        case .advancedCommerce: .advancedCommerce
        }
    }

    /// Reads `kind` and that kind's fields from one object; whatever is missing, wrong or unknown is named.
    package init(_ value: JSONValue) throws(OfferError) {
        guard value.object != nil else { throw .invalid(field: "", "it must be a JSON object") }
        guard let kind = value["kind"]?.string.flatMap(Kind.init) else {
            let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(field: "kind", "it must be \(names)")
        }
        let checked = try OfferShape.object([.constant("kind", kind.rawValue)] + kind.fields).checked(value)
        func text(_ name: String) -> String { checked[name]?.string ?? "" }
        self =
            switch kind {
            case .promotionalOffer:
                .promotionalOffer(
                    try PromotionalOffer(
                        productID: text("productId"), offerID: text("offerId"),
                        appAccountToken: checked["appAccountToken"]?.string, nonce: checked["nonce"]?.string,
                        timestamp: checked["timestamp"]?.int64.map(Timestamp.init(milliseconds:))))
            case .promotionalOfferV2:
                .promotionalOfferV2(
                    try PromotionalOfferV2(
                        productID: text("productId"), offerID: text("offerId"),
                        transactionID: checked["transactionId"]?.string))
            case .introductoryOffer:
                .introductoryOffer(
                    try IntroductoryOfferEligibility(
                        productID: text("productId"), isAllowed: checked["allowIntroductoryOffer"]?.bool == true,
                        transactionID: text("transactionId")))
            case .advancedCommerce:
                .advancedCommerce(try Self.advancedCommerce(value["request"] ?? .null))
            }
    }

    private static func advancedCommerce(_ value: JSONValue) throws(OfferError) -> AdvancedCommerceRequest {
        do { return try AdvancedCommerceRequest(value) } catch {
            guard case .invalid(let field, let sentence) = error else { throw error }
            throw .invalid(field: field.isEmpty ? "request" : "request.\(field)", sentence)
        }
    }
}

extension OfferRequest.Kind {
    fileprivate var fields: [OfferField] {
        let product = OfferField.required("productId", .identifier)
        let offer = OfferField.required("offerId", .identifier)
        return switch self {
        case .promotionalOffer:
            [
                product, offer, .optional("appAccountToken", .identifier), .optional("nonce", .uuid),
                .optional("timestamp", .integer(1...253_402_300_799_999)),
            ]
        case .promotionalOfferV2: [product, offer, .optional("transactionId", .identifier)]
        case .introductoryOffer:
            [product, .required("allowIntroductoryOffer", .bool), .required("transactionId", .identifier)]
        // The request has a table of its own.
        case .advancedCommerce: [.required("request", .anyObject)]
        }
    }
}

/// A promotional offer of the original StoreKit API, and of StoreKit 2 where no JWS is used.
package struct PromotionalOffer: Sendable, Hashable {
    package let productID: String
    package let offerID: String
    /// The `appAccountToken` or `applicationUsername` that the app passes along; nil when it passes none.
    package let appAccountToken: String?
    /// A new UUID for each signature; made when nil.
    package let nonce: String?
    /// When the offer's 24 hours begin; now when nil.
    package let timestamp: Timestamp?

    package init(
        productID: String, offerID: String, appAccountToken: String? = nil, nonce: String? = nil,
        timestamp: Timestamp? = nil
    ) throws(OfferError) {
        self.productID = try checked(productID, "productId")
        self.offerID = try checked(offerID, "offerId")
        // An app that has none signs the empty text, and so do we.
        if let appAccountToken, !appAccountToken.isEmpty {
            self.appAccountToken = try checked(appAccountToken, "appAccountToken")
        } else {
            self.appAccountToken = nil
        }
        guard let nonce else {
            self.nonce = nil
            self.timestamp = timestamp
            return
        }
        guard let canonical = UUIDText.canonical(nonce) else { throw .invalid(field: "nonce", "it must be a UUID") }
        self.nonce = canonical
        self.timestamp = timestamp
    }

    /// The text that is signed: seven parts between U+2063, INVISIBLE SEPARATOR.
    package func signedText(bundleID: String, keyID: String, nonce: String, timestamp: Timestamp) -> String {
        [
            bundleID, keyID, productID, offerID, (appAccountToken ?? "").lowercased(), nonce.lowercased(),
            String(timestamp.milliseconds),
        ].joined(separator: "\u{2063}")
    }
}

/// A promotional offer for StoreKit 2, signed as JWS.
package struct PromotionalOfferV2: Sendable, Hashable {
    package let productID: String
    package let offerID: String
    /// Any transaction of the customer, or the appTransactionId; not needed, but Apple recommends it.
    package let transactionID: String?

    package init(productID: String, offerID: String, transactionID: String? = nil) throws(OfferError) {
        self.productID = try checked(productID, "productId")
        self.offerID = try checked(offerID, "offerId")
        self.transactionID = if let transactionID { try checked(transactionID, "transactionId") } else { nil }
    }
}

/// Says whether a customer may have an introductory offer, against Apple's own judgement.
package struct IntroductoryOfferEligibility: Sendable, Hashable {
    package let productID: String
    package let isAllowed: Bool
    /// Any transaction of the customer, or the appTransactionId.
    package let transactionID: String

    package init(productID: String, isAllowed: Bool, transactionID: String) throws(OfferError) {
        self.productID = try checked(productID, "productId")
        self.isAllowed = isAllowed
        self.transactionID = try checked(transactionID, "transactionId")
    }
}

/// A separator within a part would let two offers have one signature.
private func checked(_ text: String, _ field: String) throws(OfferError) -> String {
    guard !text.isEmpty else { throw .invalid(field: field, "it must not be empty") }
    guard !text.unicodeScalars.contains(where: { $0 == "\u{2063}" || $0.value < 0x20 }) else {
        throw .invalid(field: field, "it has a control character or a separator (U+2063) in it")
    }
    return text
}
