/// The certificates that a chain may end at.
package struct TrustedRoots: Sendable {
    struct Root: Sendable {
        let certificate: Certificate
        let key: Key
    }

    let roots: [Root]

    /// Apple Root CA - G3, and nothing else.
    package static let apple: TrustedRoots = {
        // Fails closed: without its root nothing is trusted. A test reads the root and its fingerprint.
        guard let certificate = Certificate(der: AppleRoot.der), let key = certificate.key else {
            return TrustedRoots(roots: [])
        }
        return TrustedRoots(roots: [Root(certificate: certificate, key: key)])
    }()

    private init(roots: [Root]) { self.roots = roots }

    /// Roots from their DER forms.
    package init(der certificates: [[UInt8]]) throws(TrustedRootsError) {
        guard !certificates.isEmpty else { throw .noCertificate }
        var roots: [Root] = []
        for der in certificates {
            guard let certificate = Certificate(der: der) else { throw .unreadable }
            guard certificate.isAuthority, !certificate.forbidsSigningCertificates else {
                throw .notAnAuthority(certificate.subject)
            }
            guard let key = certificate.key else { throw .unsupportedKey(certificate.subject) }
            roots.append(Root(certificate: certificate, key: key))
        }
        self.roots = roots
    }

    /// Roots from a file's content: one certificate in DER, or any number in PEM.
    package init(file bytes: [UInt8]) throws(TrustedRootsError) {
        if bytes.first == 0x30 {
            try self.init(der: [bytes])
        } else {
            guard let blocks = PEM.decode(String(decoding: bytes, as: UTF8.self), label: "CERTIFICATE") else {
                throw .unreadable
            }
            try self.init(der: blocks)
        }
    }

    /// These roots and those of `others`.
    package func adding(_ others: TrustedRoots) -> TrustedRoots { TrustedRoots(roots: roots + others.roots) }

    /// SHA-256 fingerprints, lower-case hexadecimal.
    package var fingerprints: [String] { roots.map(\.certificate.fingerprint) }
    package var subjects: [String] { roots.map(\.certificate.subject) }
}

/// Why a file cannot be trusted roots.
package enum TrustedRootsError: Error, Sendable, Hashable, CustomStringConvertible {
    case noCertificate
    case unreadable
    case notAnAuthority(String)
    case unsupportedKey(String)

    package var description: String {
        switch self {
        case .noCertificate: "there is no certificate in it"
        case .unreadable: "it is no certificate in DER or PEM"
        case .notAnAuthority(let subject): "\(subject) is not a certificate authority"
        case .unsupportedKey(let subject): "the key of \(subject) is neither on P-256 nor on P-384"
        }
    }
}
