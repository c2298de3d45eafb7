/// Why something could not be signed, or a key could not be read.
package struct SigningError: Error, CustomStringConvertible {
    package enum Code: Sendable { case unreadableKey, wrongCurve, openSSL, file }
    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
