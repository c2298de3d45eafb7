package import AppStore
internal import Glibc
internal import Runtime
package import Time

/// What the simulator signs with and whom it lets in: its authority, and the one API key it has given out.
package struct SimulatorIdentity: Sendable {
    package let authority: CertificateAuthority
    /// The App Store Connect key: who has it may call the Server API.
    package let apiKey: SigningKey
    package let keyID: String
    package let issuerID: String

    package static let defaultKeyID = "SIMULATOR1"
    package static let defaultIssuerID = "57246542-96fe-1a63-e053-0824d011072a"

    /// New keys that nobody has seen; for tests.
    package init(makingAt now: Timestamp) throws(SigningError) {
        authority = try CertificateAuthority(makingAt: now)
        apiKey = try SigningKey()
        keyID = Self.defaultKeyID
        issuerID = Self.defaultIssuerID
    }

    /// Keeps certificates and keys in `folder`, so that a gateway need be told of them once only.
    package init(inFolder folder: String, now: Timestamp) throws {
        authority = try CertificateAuthority(inFolder: folder, now: now)
        keyID = Self.defaultKeyID
        issuerID = Self.defaultIssuerID
        let path = Self.keyFile(in: folder)
        if unsafe access(path, F_OK) == 0 {
            apiKey = try SigningKey(pem: try File.text(at: path, limit: 1 << 16))
        } else {
            apiKey = try SigningKey()
            try Self.write(try apiKey.pem(), to: path)
        }
    }

    package static func rootFile(in folder: String) -> String { "\(folder)/root.pem" }
    package static func keyFile(in folder: String) -> String { "\(folder)/AuthKey_\(defaultKeyID).p8" }

    private static func write(_ text: String, to path: String) throws(SystemError) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        let bytes = Array(text.utf8)
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw SystemError(call: "write \(path)") }
    }
}
