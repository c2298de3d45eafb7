package import Time

extension TrustedRoots {
    /// What a root says of itself.
    package struct Description: Sendable, Hashable {
        package let subject: String
        /// SHA-256, lower-case hexadecimal.
        package let fingerprint: String
        package let notBefore: Timestamp
        package let notAfter: Timestamp
        package let isApples: Bool
    }

    package var descriptions: [Description] {
        let apples = Set(TrustedRoots.apple.fingerprints)
        return roots.map(\.certificate).map { certificate in
            Description(
                subject: certificate.subject, fingerprint: certificate.fingerprint, notBefore: certificate.notBefore,
                notAfter: certificate.notAfter, isApples: apples.contains(certificate.fingerprint))
        }
    }
}
