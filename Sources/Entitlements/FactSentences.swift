import Time

// What Apple signed, in words, for explanations.

extension TransactionFact {
    var sentence: String {
        var text = "\(productID), transaction \(transactionID), from \(purchaseDate.rfc3339)"
        if let expiresDate { text += " to \(expiresDate.rfc3339)" }
        if isUpgraded { text += ", upgraded" }
        if let revocationDate {
            text += ", taken back at \(revocationDate.rfc3339)"
            if let revocationType { text += " (\(revocationType))" }
        }
        if let revokedSeatQuantity, revokedSeatQuantity > 0 { text += ", \(revokedSeatQuantity) seats taken back" }
        if let ownership, ownership != "PURCHASED" { text += ", \(ownership)" }
        if let offerType { text += ", offer \(offerDiscountType ?? String(offerType))" }
        return text
    }
}

extension RenewalFact {
    var sentence: String {
        var parts: [String] = []
        switch autoRenewStatus {
        case 0: parts.append("automatic renewal off")
        case 1: parts.append("automatic renewal on")
        case let other?: parts.append("automatic renewal \(other)")
        case nil: break
        }
        if let autoRenewProductID { parts.append("next \(autoRenewProductID)") }
        if isInBillingRetryPeriod == true { parts.append("in billing retry") }
        if let gracePeriodExpiresDate { parts.append("grace period until \(gracePeriodExpiresDate.rfc3339)") }
        if let expirationIntent { parts.append("expirationIntent \(expirationIntent)") }
        if let priceIncreaseStatus {
            parts.append("price increase \(priceIncreaseStatus == 1 ? "agreed" : "not answered")")
        }
        return parts.isEmpty ? "renewal settings without content" : parts.joined(separator: ", ")
    }
}

extension StatusFact {
    var sentence: String {
        switch status {
        case AppleStatus.active: "status 1, active"
        case AppleStatus.expired: "status 2, expired"
        case AppleStatus.billingRetry: "status 3, in billing retry"
        case AppleStatus.gracePeriod: "status 4, in a billing grace period"
        case AppleStatus.revoked: "status 5, revoked"
        default: "status \(status), which is not known"
        }
    }
}
