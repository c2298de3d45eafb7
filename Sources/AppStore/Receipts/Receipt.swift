/// What a text turned out to be that somebody sent as a receipt. Reading it verifies nothing.
package enum Receipt: Sendable, Hashable {
    /// An app receipt that claims to be the App Store's.
    case app(SignedAppReceipt)
    /// An app receipt made by Xcode's StoreKit testing. A type of its own, so that it cannot pass for the App Store's.
    case xcode(XcodeReceipt)
    /// The receipt of one transaction, in the style of iOS 6.
    case transaction(TransactionReceipt)

    /// What the caller has a use for.
    package enum Kind: Sendable { case app, transaction }

    /// Reads a receipt as apps send it (base64), or as it lies on a device (DER or BER).
    package init(_ input: [UInt8], expecting kind: Kind? = nil) throws(ReceiptFailure) {
        switch try ReceiptText.read(input) {
        case .transactionReceipt(let text):
            guard kind != .app else {
                throw ReceiptFailure(
                    .transactionReceipt,
                    "it is the receipt of one transaction (iOS 6 style), an app receipt is wanted here: the content of "
                        + "Bundle.main.appStoreReceiptURL, in base64")
            }
            guard let receipt = TransactionReceipt(text: text[...]) else {
                throw ReceiptFailure(.malformed, "it is a transaction receipt without a readable purchase-info")
            }
            self = .transaction(receipt)
        case .container(let bytes):
            let content = try CMSContainer(bytes).content()
            guard let receipt = AppReceipt(payload: content) else {
                throw ReceiptFailure(.malformed, "what is signed in it is not a set of receipt attributes")
            }
            guard kind != .transaction else {
                throw ReceiptFailure(
                    .appReceipt,
                    "it is an app receipt, the receipt of one transaction (iOS 6 style) is wanted here")
            }
            self =
                receipt.isXcodes
                ? .xcode(XcodeReceipt(claims: receipt)) : .app(SignedAppReceipt(claims: receipt, container: bytes))
        }
    }

    /// A transaction id to ask the App Store Server API with; nil when there is none in it. Xcode's are "0".
    package var transactionID: String? {
        switch self {
        case .app(let receipt): receipt.claims.transactionID
        case .xcode(let receipt): receipt.claims.transactionID
        case .transaction(let receipt): receipt.transactionID
        }
    }
}

/// An app receipt whose signature has not been looked at.
package struct SignedAppReceipt: Sendable, Hashable {
    package let claims: AppReceipt
    /// The CMS message, for `ReceiptVerifier`.
    let container: [UInt8]
}

/// An app receipt made by Xcode. Nothing makes a verified one of it.
package struct XcodeReceipt: Sendable, Hashable {
    package let claims: AppReceipt
}
