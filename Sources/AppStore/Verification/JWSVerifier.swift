internal import JSON
internal import Synchronization
package import Time

/// Verifies what Apple signs: strict compact JWS, ES256, a chain to a trusted root, valid on the date of signing.
///
/// One verifier serves any number of threads; they share its cache of verified chains.
package final class JWSVerifier: Sendable {
    package let roots: TrustedRoots
    package let limits: VerificationLimits
    private let cache: ChainCache

    package init(roots: TrustedRoots = .apple, limits: VerificationLimits = VerificationLimits()) {
        self.roots = roots
        self.limits = limits
        cache = ChainCache(limits: limits)
    }

    /// Verified chains in the cache.
    package var cachedChainCount: Int { cache.count }
    /// Headers whose chain is known without reading them.
    package var cachedHeaderCount: Int { cache.headerCount }

    /// The chains that Apple signs with at present, as this process sees it: verified within `VerificationLimits.chainAge`.
    package var chainsInUse: [VerifiedChain] { cache.fresh }

    /// How much has been computed since the start: what the caches save is not in it.
    package struct Work: Sendable, Hashable {
        /// Chains checked, with two signatures each.
        package var chains = 0
        /// Signatures of payloads checked, each on P-256.
        package var signatures = 0

        package init(chains: Int = 0, signatures: Int = 0) {
            self.chains = chains
            self.signatures = signatures
        }
    }

    private let chainChecks = Atomic(0)
    private let signatureChecks = Atomic(0)

    package var work: Work {
        Work(chains: chainChecks.load(ordering: .relaxed), signatures: signatureChecks.load(ordering: .relaxed))
    }

    /// Verifies a compact JWS that is expected to be a `Payload`, as of `now`.
    package func verify<Payload: SignedPayload>(
        _ text: ArraySlice<UInt8>, as _: Payload.Type, now: Timestamp
    ) throws(VerificationFailure) -> Verified<Payload> {
        let part = Payload.kind.part
        let (bytes, chain) = try verifySignature(text, part: part)
        let payload: Payload
        do {
            payload = try Payload(json: bytes)
        } catch {
            throw VerificationFailure(.payload, part, "the signature is good, but the payload cannot be read: \(error)")
        }
        guard payload.isOfItsKind else {
            let kind = PayloadKind(ofJSON: bytes)
            if kind == Payload.kind {
                let problem = payload.warnings.first?.description ?? "the member that says what it is has no value"
                throw VerificationFailure(.payload, part, problem)
            }
            throw VerificationFailure(
                .wrongKind, part, "expected \(Payload.kind.phrase), but this is \(kind?.phrase ?? "of an unknown kind")"
            )
        }
        try check(payload.dateOfSigning, chain: chain, part: part, now: now)
        return Verified(payload: payload, bytes: bytes, chain: chain)
    }

    /// Holds a date of signing against the clock and against the certificates; without one, the clock counts.
    func check(
        _ date: Timestamp?, chain: VerifiedChain, part: VerificationFailure.Part, now: Timestamp
    ) throws(VerificationFailure) {
        let date = date ?? now
        guard date <= now + limits.signedAhead else {
            throw VerificationFailure(
                .signedTooFarAhead, part, "signed at \(date.rfc3339), which is ahead of the clock (\(now.rfc3339))")
        }
        guard date >= chain.notBefore, date <= chain.notAfter else {
            throw VerificationFailure(
                .expired, part,
                "signed at \(date.rfc3339), but the certificates are valid from \(chain.notBefore.rfc3339) to "
                    + chain.notAfter.rfc3339)
        }
    }

    /// Everything that can be said without reading the payload: form, algorithm, chain, signature.
    func verifySignature(
        _ text: ArraySlice<UInt8>, part: VerificationFailure.Part
    ) throws(VerificationFailure) -> (payload: [UInt8], chain: VerifiedChain) {
        guard let jws = CompactJWS(text) else {
            throw VerificationFailure(.malformed, part, "a compact JWS has three parts between two dots")
        }
        guard let signature = Base64URL.decode(jws.signature) else {
            throw VerificationFailure(.malformed, part, "the signature is not strict base64url")
        }
        let known = cache.header(jws.header)
        let chain = if let known { known.chain } else { try chain(ofHeader: jws.header, part: part) }
        guard signature.count == ECDSASignature.es256Size else {
            throw VerificationFailure(
                .signature, part, "an ES256 signature has 64 bytes, this one has \(signature.count)")
        }
        signatureChecks.wrappingAdd(1, ordering: .relaxed)
        let digest = known?.beginning?.digest(followedBy: jws.payload) ?? SHA256.digest(jws.signedPart)
        switch chain.key.verdict(on: signature, ofDigest: digest) {
        case .good: break
        case .bad: throw VerificationFailure(.signature, part, "the signature was not made by the leaf certificate")
        case .undecidable: throw VerificationFailure(.undecidable, part, "OpenSSL could not check the signature")
        }
        if known == nil { cache.remember(jws, of: chain) }
        guard let payload = Base64URL.decode(jws.payload) else {
            throw VerificationFailure(.malformed, part, "the payload is not strict base64url")
        }
        return (payload, chain)
    }

    private func chain(
        ofHeader text: ArraySlice<UInt8>, part: VerificationFailure.Part
    ) throws(VerificationFailure) -> VerifiedChain {
        guard let json = Base64URL.decode(text) else {
            throw VerificationFailure(.malformed, part, "the header is not strict base64url")
        }
        let header: JWSHeader
        do {
            header = try JWSHeader(json)
        } catch {
            throw VerificationFailure(.malformed, part, "the header is not a JSON object: \(error)")
        }
        guard header.algorithm == "ES256" else {
            throw VerificationFailure(
                .algorithm, part,
                header.algorithm.map { "the algorithm is \(quoted($0)), not ES256" } ?? "no algorithm is named")
        }
        guard !header.hasCriticalParameters else {
            throw VerificationFailure(.algorithm, part, "the header has critical parameters, which Apple never sends")
        }
        guard let x5c = header.x5c else {
            throw VerificationFailure(.chainLength, part, "the header lists no certificates")
        }
        guard x5c.count == 3 else {
            throw VerificationFailure(
                .chainLength, part,
                x5c.count == 1
                    ? "the header lists one certificate, as Xcode's local tests do; Apple lists three"
                    : "the header lists \(x5c.count) certificates, Apple lists three")
        }
        let check = ChainCheck(roots: roots, part: part)
        let key = SHA256.digest(Array(x5c[0].utf8) + [0] + Array(x5c[1].utf8))
        if let entry = cache.entry(for: key) {
            // The verdict must not depend on whether the chain was seen before.
            if entry.third != x5c[2] { _ = try check.certificate(x5c[2], place: 2) }
            return entry.chain
        }
        let chain = try check.verify(try check.certificates(x5c)) {
            guard cache.permitUnknownChain() else { return false }
            chainChecks.wrappingAdd(1, ordering: .relaxed)
            return true
        }
        cache.insert(chain, third: x5c[2], for: key)
        return chain
    }
}
