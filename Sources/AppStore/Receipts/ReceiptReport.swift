package import Time

/// Everything that can be said about a text that was sent as a receipt, for people and scripts.
package struct ReceiptReport: Sendable {
    /// What it was read as; nil when it is no receipt.
    package private(set) var receipt: Receipt?
    /// Set when its signature is good and it is what was asked for.
    package private(set) var verified: VerifiedAppReceipt?
    /// Why it is not to be believed, or not to be read.
    package private(set) var failure: ReceiptFailure?

    package init(
        of input: [UInt8], verifier: ReceiptVerifier, expecting: ReceiptVerifier.Expectation = .init(), now: Timestamp
    ) {
        do throws(ReceiptFailure) {
            let receipt = try Receipt(input)
            self.receipt = receipt
            switch receipt {
            case .app(let signed): verified = try verifier.verify(signed, expecting: expecting, now: now)
            case .xcode:
                throw ReceiptFailure(
                    .xcode,
                    "Xcode's StoreKit testing made it: Apple signed none of it, and its transactions are unknown to the "
                        + "App Store; use a sandbox or TestFlight build for a receipt that counts")
            case .transaction:
                throw ReceiptFailure(
                    .unverifiable,
                    "the signature of receipts in the style of iOS 6 cannot be checked: ask the App Store Server API about "
                        + "its transaction id")
            }
        } catch { failure = error }
    }

    /// Whether the receipt is verified, and all that was asked for holds.
    package var isFine: Bool { verified != nil }

    /// The content of an app receipt, whoever made it.
    var claims: AppReceipt? {
        switch receipt {
        case .app(let signed): signed.claims
        case .xcode(let xcode): xcode.claims
        case .transaction, nil: nil
        }
    }

    var kind: String? {
        switch receipt {
        case .app: "appReceipt"
        case .xcode: "xcodeReceipt"
        case .transaction: "transactionReceipt"
        case nil: nil
        }
    }
}
