/// Why something is not a receipt, or not one to be believed: a code to switch on, and a sentence that says what to do.
package struct ReceiptFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        // It cannot be read as a receipt.
        case empty, tooLarge, notBase64, doublyEncoded, jws, json, notAReceipt, truncated, malformed
        /// A CMS message, but not one that carries signed data.
        case wrongContainer
        /// A transaction receipt where an app receipt is wanted.
        case transactionReceipt
        /// An app receipt where a transaction receipt is wanted.
        case appReceipt

        // It can be read, and nobody vouches for it.
        /// Made by Xcode's StoreKit testing: Apple signed none of it.
        case xcode
        /// A receipt in the style of iOS 6, whose signature cannot be checked here.
        case unverifiable
        case certificate, notTrusted, expired, signature

        // Apple vouches for it, but it is not what was asked for.
        case wrongApp, wrongEnvironment, wrongDevice
    }

    package let code: Code
    package let sentence: String

    package init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    package var description: String { "\(sentence) (\(code.rawValue))" }
}
