package import Time

/// A chain of certificates that leads to a trusted root, and what is needed of it afterwards.
package struct VerifiedChain: Sendable {
    /// One certificate, to be shown to people.
    package struct Link: Sendable, Hashable {
        package let subject: String
        package let issuer: String
        package let notBefore: Timestamp
        package let notAfter: Timestamp
        /// SHA-256 of the DER form.
        package let fingerprint: String

        init(_ certificate: Certificate) {
            subject = certificate.subject
            issuer = certificate.issuer
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
            fingerprint = certificate.fingerprint
        }
    }

    /// The leaf's key, on P-256.
    let key: VerifyingKey
    /// Leaf, intermediate and the trusted root (not what the header listed third).
    package let links: [Link]
    /// The same three themselves.
    let members: [Certificate]
    /// The span in which all three are valid; each payload's date of signing is held against it.
    package let notBefore: Timestamp
    package let notAfter: Timestamp
    /// Whether the root is Apple's own.
    package let isApples: Bool
    /// When the certificates were checked, on the clock that nobody can set: trust in them ages.
    let verifiedAt = ContinuousClock.now
}
