/// Checks a chain, every rule in plain sight and with a failure of its own.
///
/// Explicit calls rather than `X509_verify_cert`: that one judges at one date (ours comes later, with each payload),
/// knows nothing of Apple's markers, passes over critical extensions that it believes somebody else handles, and says
/// little about why. What remains are two ECDSA verifications and the comparisons below.
struct ChainCheck {
    let roots: TrustedRoots
    let part: VerificationFailure.Part

    /// How the sentence ends of a chain that may be good under another root.
    static let unknownRoot = "which is not a trusted root"

    /// Reads the three certificates of `x5c`, standard base64 of DER each.
    func certificates(_ x5c: [String]) throws(VerificationFailure) -> [Certificate] {
        var certificates: [Certificate] = []
        for (place, text) in x5c.enumerated() { certificates.append(try certificate(text, place: place)) }
        return certificates
    }

    func certificate(_ text: String, place: Int) throws(VerificationFailure) -> Certificate {
        guard let der = Base64.decode(text) else {
            throw fail(.certificate, "certificate \(place + 1) is not strict base64")
        }
        guard let certificate = Certificate(der: der) else {
            throw fail(.certificate, "certificate \(place + 1) is not an X.509 certificate in DER")
        }
        return certificate
    }

    /// The chain from `certificates`, of which the third is not looked at: a root counts because it was configured,
    /// never because a header brought it along. `permit` is asked before the first costly step.
    func verify(
        _ certificates: [Certificate], permit: () -> Bool
    ) throws(VerificationFailure) -> VerifiedChain {
        let leaf = certificates[0]
        let intermediate = certificates[1]
        guard let key = leaf.key, key.curve == .p256 else {
            throw fail(.certificate, "the leaf's key is not on P-256")
        }
        guard let intermediateKey = intermediate.key else {
            throw fail(.certificate, "the intermediate's key is neither on P-256 nor on P-384")
        }
        guard leaf.carries(.appleLeafMarker) else {
            throw fail(.certificate, "the leaf lacks Apple's marker for App Store signing (1.2.840.113635.100.6.11.1)")
        }
        guard intermediate.carries(.appleIntermediateMarker) else {
            throw fail(.certificate, "the intermediate lacks Apple's marker (1.2.840.113635.100.6.2.1)")
        }
        guard !leaf.hasUnknownCriticalExtension, !intermediate.hasUnknownCriticalExtension else {
            throw fail(.certificate, "a certificate has a critical extension that is not understood")
        }
        guard intermediate.isAuthority, !intermediate.forbidsSigningCertificates else {
            throw fail(.certificate, "the intermediate may not sign certificates")
        }
        guard !leaf.isAuthority, !leaf.forbidsSigningData else {
            throw fail(.certificate, "the leaf is not meant to sign data")
        }
        guard leaf.namesAsIssuer(intermediate) else {
            throw fail(.notTrusted, "the leaf was not issued by the intermediate beside it")
        }
        let candidates = roots.roots.filter {
            intermediate.namesAsIssuer($0.certificate) && $0.certificate.allowsIntermediate
        }
        guard !candidates.isEmpty else {
            throw fail(.notTrusted, "the chain ends at \(intermediate.issuer), \(Self.unknownRoot)")
        }
        guard permit() else { throw fail(.busy, "too many unknown certificate chains at once") }
        guard let root = candidates.first(where: { intermediate.isSigned(by: $0.key) }) else {
            throw fail(.notTrusted, "the intermediate names a trusted root but was not signed by it")
        }
        guard leaf.isSigned(by: intermediateKey) else {
            throw fail(.notTrusted, "the leaf names the intermediate but was not signed by it")
        }
        let members = [leaf, intermediate, root.certificate]
        return VerifiedChain(
            key: VerifyingKey(key), links: members.map(VerifiedChain.Link.init), members: members,
            notBefore: members.map(\.notBefore).max() ?? leaf.notBefore,
            notAfter: members.map(\.notAfter).min() ?? leaf.notAfter,
            isApples: TrustedRoots.apple.fingerprints.contains(root.certificate.fingerprint))
    }

    private func fail(_ code: VerificationFailure.Code, _ sentence: String) -> VerificationFailure {
        VerificationFailure(code, part, sentence)
    }
}
