package import Time

/// A root, an intermediate and a leaf of our own, shaped and sized like Apple's, marker OIDs included.
///
/// The simulator signs with it, and tests do. Only a verifier that was told to trust this root accepts the result.
package struct CertificateAuthority: Sendable {
    /// A certificate and its key.
    package struct Member: Sendable {
        package let certificate: [UInt8]
        package let key: SigningKey

        package init(certificate: [UInt8], key: SigningKey) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The addresses at which the root and the intermediate answer by OCSP for what they issued; nobody's by default.
    package struct Responders: Sendable {
        package var root: String
        package var intermediate: String

        package init(
            root: String = "http://ocsp.holdfast.invalid/ocsp03-rootcag3",
            intermediate: String = "http://ocsp.holdfast.invalid/ocsp03-wwdrg602"
        ) {
            self.root = root
            self.intermediate = intermediate
        }
    }

    package let root: Member
    package let intermediate: Member
    package let leaf: Member

    package init(root: Member, intermediate: Member, leaf: Member) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
    }

    /// Makes new keys and certificates that are valid from two years before `now` (an accelerated clock may begin in
    /// the past), the leaf for ten years after it.
    ///
    /// The intermediate and the leaf name `responders` as those to ask whether they are revoked.
    package init(makingAt now: Timestamp, responders: Responders = Responders()) throws(SigningError) {
        let start = now - .seconds(2 * 365 * 86_400)
        let end = now + .seconds(10 * 365 * 86_400)
        let (root, relations, signing) = (Self.rootName, Self.relationsName, Self.signingName)
        let rootKey = try SigningKey(generating: .p384)
        let relationsKey = try SigningKey(generating: .p384)
        let signingKey = try SigningKey()

        let rootCertificate = try CertificateTemplate(
            subject: root, issuer: root, notBefore: start, notAfter: end,
            subjectPublicKeyInfo: try rootKey.subjectPublicKeyInfo(),
            extensions: [
                .subjectKeyIdentifier(try rootKey.identifier()), .basicConstraints(isAuthority: true),
                .signsCertificates,
            ]
        ).signed(by: rootKey)
        let relationsCertificate = try CertificateTemplate(
            subject: relations, issuer: root, notBefore: start, notAfter: end,
            subjectPublicKeyInfo: try relationsKey.subjectPublicKeyInfo(),
            extensions: [
                .basicConstraints(isAuthority: true, pathLength: 0),
                .authorityKeyIdentifier(try rootKey.identifier()),
                .authorityAccess(issuers: nil, responder: responders.root),
                .revocationList("http://crl.holdfast.invalid/rootcag3.crl"),
                .subjectKeyIdentifier(try relationsKey.identifier()), .signsCertificates, .appleIntermediateMarker,
            ]
        ).signed(by: rootKey)
        let signingCertificate = try CertificateTemplate(
            subject: signing, issuer: relations, notBefore: start, notAfter: end,
            subjectPublicKeyInfo: try signingKey.subjectPublicKeyInfo(),
            extensions: [
                .basicConstraints(isAuthority: false), .authorityKeyIdentifier(try relationsKey.identifier()),
                .authorityAccess(
                    issuers: "http://certs.holdfast.invalid/wwdrg6.der",
                    responder: responders.intermediate),
                .policy(notice: Self.notice, practice: "http://www.holdfast.invalid/certificateauthority/"),
                .subjectKeyIdentifier(try signingKey.identifier()), .signsData, .appleLeafMarker,
            ]
        ).signed(by: relationsKey)

        self.init(
            root: Member(certificate: rootCertificate, key: rootKey),
            intermediate: Member(certificate: relationsCertificate, key: relationsKey),
            leaf: Member(certificate: signingCertificate, key: signingKey))
    }

    /// The names that root, intermediate and leaf bear.
    package static let rootName = CertificateTemplate.Name(
        commonName: "Holdfast Root CA - G3", unit: "Holdfast Certification Authority")
    package static let relationsName = CertificateTemplate.Name(
        commonName: "Holdfast Worldwide Developer Relations Certification Authority", unit: "G6")
    package static let signingName = CertificateTemplate.Name(
        commonName: "Prod ECC Mac App Store and iTunes Store Receipt Signing",
        unit: "Holdfast Worldwide Developer Relations")

    private static let notice = """
        Made by a Holdfast simulator for tests. It vouches for nobody: whoever lets a verifier of real customers trust \
        its root lets anybody sign what they please.
        """

    /// The root, DER: what a verifier is told to trust.
    package var rootDER: [UInt8] { root.certificate }
    /// The root, PEM.
    package var rootPEM: String { PEM.encode(root.certificate, label: "CERTIFICATE") }
    /// The certificates as a JWS header lists them: leaf, intermediate, root.
    package var chain: [[UInt8]] { [leaf.certificate, intermediate.certificate, root.certificate] }

    /// `payload` (JSON text) as Apple would sign it: ES256 by the leaf, the whole chain in the header.
    package func sign(_ payload: [UInt8]) throws(SigningError) -> String {
        try SignedJWS.make(header: SignedJWS.header(x5c: chain), payload: payload, key: leaf.key)
    }
}

extension SigningKey {
    /// Twenty bytes that name the public key within its chain (RFC 7093, method 1).
    func identifier() throws(SigningError) -> [UInt8] { Array(SHA256.digest(try subjectPublicKeyInfo()).prefix(20)) }
}
