internal import JSON
package import Time

/// Signs offers for one app with its In-App Purchase key of App Store Connect.
package struct OfferSigner: Sendable {
    private let key: SigningKey
    private let keyID: String
    private let issuerID: String?
    private let bundleID: String

    /// `issuerID` is needed for all kinds but the first.
    package init(key: SigningKey, keyID: String, issuerID: String?, bundleID: String) throws(OfferError) {
        guard key.curve == .p256 else { throw .signing("the key is not on P-256, as Apple's keys are") }
        guard !keyID.isEmpty else { throw .invalid(field: "keyId", "it must not be empty") }
        guard !bundleID.isEmpty else { throw .invalid(field: "bundleId", "it must not be empty") }
        self.key = key
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// Signs as of `now`; `nonce` is a new UUID unless the caller or the request has one.
    package func sign(
        _ request: OfferRequest, now: Timestamp, nonce: String? = nil
    ) throws(OfferError) -> OfferSignature {
        if request.kind != .promotionalOffer, issuerID?.isEmpty != false {
            throw .invalid(
                field: "issuerId", "it is needed for this kind (App Store Connect: Users and Access, Integrations)")
        }
        do throws(SigningError) {
            if case .promotionalOffer(let offer) = request {
                let nonce = if let given = offer.nonce ?? nonce { given } else { try UUIDText.random() }
                let timestamp = offer.timestamp ?? now
                let text = offer.signedText(bundleID: bundleID, keyID: keyID, nonce: nonce, timestamp: timestamp)
                return OfferSignature(
                    kind: .promotionalOffer, keyID: keyID, nonce: nonce, timestamp: timestamp,
                    text: Base64.encode(try key.derSignature(of: Array(text.utf8))))
            }
            let nonce = if let nonce { nonce } else { try UUIDText.random() }
            return OfferSignature(
                kind: request.kind, keyID: keyID, nonce: nonce, timestamp: now,
                text: try jws(for: request, now: now, nonce: nonce))
        } catch { throw .signing(error.description) }
    }

    private func jws(for request: OfferRequest, now: Timestamp, nonce: String) throws(SigningError) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", keyID)
        header.member("typ", "JWT")
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", issuerID)
        claims.member("bid", bundleID)
        claims.member("aud", request.audience)
        claims.member("iat", now.milliseconds / 1000)
        claims.member("nonce", nonce.lowercased())
        request.writeClaims(to: &claims)
        claims.endObject()
        return try SignedJWS.make(header: header.bytes, payload: claims.bytes, key: key)
    }
}

/// A signature, and what the app must pass to StoreKit with it.
package struct OfferSignature: Sendable {
    package let kind: OfferRequest.Kind
    package let keyID: String
    package let nonce: String
    package let timestamp: Timestamp
    /// Base64 of the DER signature for the original promotional offer, a compact JWS for all other kinds.
    package let text: String

    /// One object: `kind` and either `signature`, `keyId`, `nonce` and `timestamp`, or `jws`.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("kind", kind.rawValue)
        if kind == .promotionalOffer {
            writer.member("keyId", keyID)
            writer.member("nonce", nonce)
            writer.member("timestamp", timestamp.milliseconds)
            writer.member("signature", text)
        } else {
            writer.member("jws", text)
        }
        writer.endObject()
        return writer.text
    }
}

extension OfferRequest {
    /// What Apple calls the feature.
    fileprivate var audience: String {
        switch self {
        case .promotionalOffer, .promotionalOfferV2: "promotional-offer"
        case .introductoryOffer: "introductory-offer-eligibility"
        case .advancedCommerce: "advanced-commerce-api"
        }
    }

    fileprivate func writeClaims(to claims: inout JSONWriter) {
        switch self {
        case .promotionalOffer: break
        case .promotionalOfferV2(let offer):
            claims.member("productId", offer.productID)
            claims.member("offerIdentifier", offer.offerID)
            if let transactionID = offer.transactionID { claims.member("transactionId", transactionID) }
        case .introductoryOffer(let offer):
            claims.member("productId", offer.productID)
            claims.member("allowIntroductoryOffer", offer.isAllowed)
            claims.member("transactionId", offer.transactionID)
        case .advancedCommerce(let request):
            claims.member("request", Base64.encode(request.json))
        }
    }
}
