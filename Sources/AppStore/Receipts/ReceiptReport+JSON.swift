internal import JSON
internal import Time

/// The report as scripts read it.
extension ReceiptReport {
    /// One object: `transactionId`, `fine`, `kind`, `verified`, `problem`, `certificates`, and `receipt` or `fields`.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("transactionId", receipt?.transactionID)
        writer.member("fine", isFine)
        writer.member("kind", kind)
        writer.member("verified", verified != nil)
        writer.member("apple", verified?.isApples == true)
        if let failure {
            writer.object("problem") { writer in
                writer.member("code", failure.code.rawValue)
                writer.member("sentence", failure.sentence)
            }
        }
        if let verified {
            writer.member("digest", verified.digest)
            writer.array("certificates", verified.chain) { writer, link in
                writer.beginObject()
                writer.member("subject", link.subject)
                writer.member("issuer", link.issuer)
                writer.member("notBefore", link.notBefore.rfc3339)
                writer.member("notAfter", link.notAfter.rfc3339)
                writer.member("sha256", link.fingerprint)
                writer.endObject()
            }
        }
        if let claims { writer.object("receipt") { claims.writeMembers(to: &$0) } }
        if case .transaction(let receipt) = receipt {
            writer.member("environment", receipt.environment)
            writer.object("fields") { writer in
                var object = JSONObject()
                for field in receipt.fields { object[field.key] = .string(field.value) }
                for member in object.members { writer.member(member.key, member.value) }
            }
        }
        writer.endObject()
        return writer.text
    }
}

extension AppReceipt {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("receiptType", receiptType)
        writer.member("bundleId", bundleID)
        writer.member("applicationVersion", applicationVersion)
        writer.member("originalApplicationVersion", originalApplicationVersion)
        writer.member("creationDate", creationDate?.rfc3339)
        writer.member("originalPurchaseDate", originalPurchaseDate?.rfc3339)
        writer.member("expirationDate", expirationDate?.rfc3339)
        writer.member("opaqueValue", Hexadecimal.encode(opaqueValue))
        writer.member("sha1Hash", Hexadecimal.encode(deviceHash))
        writer.array("purchases", purchases) { writer, purchase in
            writer.beginObject()
            purchase.writeMembers(to: &writer)
            writer.endObject()
        }
        writer.write(others)
        writer.array("warnings", warnings) { writer, warning in writer.string(warning) }
    }
}

extension ReceiptPurchase {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("transactionId", transactionID)
        writer.member("originalTransactionId", originalTransactionID)
        writer.member("productId", productID)
        writer.member("quantity", quantity)
        writer.member("purchaseDate", purchaseDate?.rfc3339)
        writer.member("originalPurchaseDate", originalPurchaseDate?.rfc3339)
        writer.member("expiresDate", expiresDate?.rfc3339)
        writer.member("cancellationDate", cancellationDate?.rfc3339)
        writer.member("webOrderLineItemId", webOrderLineItemID)
        writer.member("isTrialPeriod", isTrialPeriod.map(JSONValue.bool) ?? .null)
        writer.member("isIntroductoryPeriod", isIntroductoryPeriod.map(JSONValue.bool) ?? .null)
        writer.member("promotionalOfferId", promotionalOfferID)
        writer.write(others)
    }
}

extension JSONWriter {
    /// Attributes that are not understood, their values in hexadecimal.
    fileprivate mutating func write(_ attributes: [ReceiptAttribute]) {
        array("otherAttributes", attributes) { writer, attribute in
            writer.beginObject()
            writer.member("type", attribute.type)
            writer.member("version", attribute.version)
            writer.member("value", Hexadecimal.encode(attribute.value))
            writer.endObject()
        }
    }
}
