internal import Runtime
internal import Time

/// The report as people read it.
extension ReceiptReport {
    package var text: String {
        var lines = [title]
        if receipt != nil { lines.append(row("transaction id", receipt?.transactionID ?? "none: it has no purchases")) }
        if let failure { lines.append("  WRONG  \(failure.sentence) (\(failure.code.rawValue))") }
        if failure?.sentence.hasSuffix(ChainCheck.unknownRoot) == true {
            lines.append("  hint   if that root is to count, such as a simulator's: --root FILE")
        }
        for warning in claims?.warnings ?? [] { lines.append("  warning  \(warning)") }
        if let verified {
            lines.append("  signed with \(verified.digest), certificates up to the trusted root")
            lines += verified.chain.flatMap { link in
                let days = "\(link.notBefore.rfc3339.prefix(10)) to \(link.notAfter.rfc3339.prefix(10))"
                return ["    \(link.subject)", "      valid \(days), SHA-256 \(link.fingerprint)"]
            }
        }
        if let claims {
            lines.append(verified == nil ? "  claims (nobody vouches for them)" : "  says")
            lines += rows(of: claims)
            lines += table(claims.purchases)
        }
        if case .transaction(let receipt) = receipt {
            lines.append("  claims (nobody vouches for them)")
            if let environment = receipt.environment { lines.append(row("environment", environment)) }
            lines += receipt.fields.map { row($0.key, $0.value) }
        }
        lines += ["", isFine ? "Everything is fine." : "This is not fine."]
        return lines.map { $0.printable(limit: PayloadField.longestLine) + "\n" }.joined()
    }

    private var title: String {
        switch receipt {
        case .app(let signed):
            "an app receipt for \(signed.claims.bundleID ?? "no app"), "
                + (verified.map { $0.isApples ? "signed by Apple" : "signed under the given root, not Apple's" }
                    ?? "not verified")
        case .xcode(let receipt): "a receipt made by Xcode for \(receipt.claims.bundleID ?? "no app")"
        case .transaction(let receipt):
            "the receipt of one transaction (iOS 6 style) for \(receipt.bundleID ?? "no app"), not verified"
        case nil: "not a receipt"
        }
    }

    private func rows(of claims: AppReceipt) -> [String] {
        let values: [(String, String?)] = [
            ("type", claims.receiptType), ("bundle id", claims.bundleID), ("version", claims.applicationVersion),
            ("original version", claims.originalApplicationVersion), ("made", claims.creationDate?.rfc3339),
            ("first bought", claims.originalPurchaseDate?.rfc3339), ("expires", claims.expirationDate?.rfc3339),
            ("opaque value", Hexadecimal.encode(claims.opaqueValue)),
            ("device hash", Hexadecimal.encode(claims.deviceHash)), ("other attributes", "\(claims.others.count)"),
        ]
        return values.compactMap { name, value in value.flatMap { $0.isEmpty ? nil : row(name, $0) } }
    }

    private func row(_ name: String, _ value: String) -> String {
        let shown = value.utf8.count > 200 ? "(\(value.utf8.count) bytes)" : value
        return "    \(padded(name, to: 18))  \(shown)"
    }

    private static let shownPurchases = 200

    private func table(_ purchases: [ReceiptPurchase]) -> [String] {
        guard !purchases.isEmpty else { return ["  no purchases"] }
        var cells = [["transaction", "original", "product", "quantity", "purchased", "expires", "cancelled", "offer"]]
        for purchase in purchases.prefix(Self.shownPurchases) {
            let offer =
                purchase.promotionalOfferID
                ?? (purchase.isTrialPeriod == true
                    ? "trial" : purchase.isIntroductoryPeriod == true ? "introductory" : "")
            cells.append(
                [
                    purchase.transactionID ?? "", purchase.originalTransactionID ?? "", purchase.productID ?? "",
                    purchase.quantity.map { "\($0)" } ?? "", day(purchase.purchaseDate), day(purchase.expiresDate),
                    day(purchase.cancellationDate), offer,
                ].map { String($0.prefix(60)) })
        }
        let widths = (0..<cells[0].count).map { column in cells.map { $0[column].count }.max() ?? 0 }
        var lines = ["  \(purchases.count) purchase\(purchases.count == 1 ? "" : "s")"]
        lines += cells.map { row in
            let line = zip(row, widths).map { padded($0, to: $1) }.joined(separator: "  ")
            return "    " + line.trimmingSuffix(while: { $0 == " " })
        }
        if purchases.count > Self.shownPurchases {
            lines.append("    … and \(purchases.count - Self.shownPurchases) more (--json has all)")
        }
        return lines
    }

    private func day(_ date: Timestamp?) -> String { date.map { "\($0.rfc3339.prefix(19))Z" } ?? "" }
}

private func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

extension String {
    fileprivate func trimmingSuffix(while matches: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, matches(last) { rest = rest.dropLast() }
        return rest
    }
}
