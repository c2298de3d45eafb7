/// What Xcode, or StoreKit's local testing, signed on somebody's computer: anybody can make such data, and it proves
/// nothing.
///
/// A type of its own, and no way leads from it to `Verified` or to an observation, so that nothing that grants access can
/// take it (invariant 6). It is made where a developer looks into a file, and nowhere else.
package struct XcodeSigned<Payload: SignedPayload>: Sendable {
    package let payload: Payload
    /// Xcode or LocalTesting.
    package let environment: PayloadEnvironment
    /// The one certificate, which signed itself.
    package let certificate: VerifiedChain.Link

    /// Reads a compact JWS of local testing: one certificate in its header, whose key made the signature.
    package init(_ text: ArraySlice<UInt8>, as _: Payload.Type = Payload.self) throws(VerificationFailure) {
        let part = Payload.kind.part
        func fail(_ code: VerificationFailure.Code, _ sentence: String) -> VerificationFailure {
            VerificationFailure(code, part, sentence)
        }
        guard let jws = CompactJWS(text) else {
            throw fail(.malformed, "a compact JWS has three parts between two dots")
        }
        guard let headerJSON = Base64URL.decode(jws.header), let signature = Base64URL.decode(jws.signature),
            let bytes = Base64URL.decode(jws.payload)
        else { throw fail(.malformed, "a part of it is not strict base64url") }
        let header: JWSHeader
        do { header = try JWSHeader(headerJSON) } catch {
            throw fail(.malformed, "the header is not a JSON object: \(error)")
        }
        guard header.algorithm == "ES256" else { throw fail(.algorithm, "the algorithm is not ES256") }
        guard let x5c = header.x5c, x5c.count == 1 else {
            throw fail(
                .chainLength,
                "the header lists \(header.x5c.map { "\($0.count)" } ?? "no") certificates, Xcode lists one")
        }
        let certificate = try ChainCheck(roots: .apple, part: part).certificate(x5c[0], place: 0)
        guard let key = certificate.key, key.curve == .p256 else {
            throw fail(.certificate, "the certificate's key is not on P-256")
        }
        guard VerifyingKey(key).isES256Signature(signature, of: jws.signedPart) else {
            throw fail(.signature, "the signature was not made by the certificate beside it")
        }
        let payload: Payload
        do { payload = try Payload(json: bytes) } catch {
            throw fail(.payload, "the payload cannot be read: \(error)")
        }
        guard payload.isOfItsKind else {
            let kind = PayloadKind(ofJSON: bytes)
            throw fail(
                .wrongKind,
                "expected \(Payload.kind.phrase), but this is \(kind?.phrase ?? "of an unknown kind")")
        }
        switch payload.origin.environment?.known {
        case .xcode: environment = .xcode
        case .localTesting: environment = .localTesting
        case .production, .sandbox, nil:
            let named = payload.origin.environment.map { quoted($0.raw) } ?? "not named"
            throw fail(.wrongEnvironment, "the environment is \(named), neither Xcode nor LocalTesting")
        }
        self.payload = payload
        self.certificate = VerifiedChain.Link(certificate)
    }
}
