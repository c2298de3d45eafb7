package import Entitlements
package import Time

/// Checks that Apple signed an app receipt: markers, chain to a trusted root, validity when the receipt was made, signature.
package struct ReceiptVerifier: Sendable {
    package let roots: ReceiptRoots
    /// How far ahead of the clock a receipt may have been made.
    private let signedAhead: Duration

    package init(roots: ReceiptRoots = .apple, signedAhead: Duration = VerificationLimits().signedAhead) {
        self.roots = roots
        self.signedAhead = signedAhead
    }

    /// What the receipt must be for; what is nil is not asked for.
    package struct Expectation: Sendable {
        package var bundleID: String?
        package var environment: StoreEnvironment?
        /// A vendor's identifier (16 bytes) or, on macOS, a MAC address (6 bytes).
        package var device: [UInt8]?

        package init(bundleID: String? = nil, environment: StoreEnvironment? = nil, device: [UInt8]? = nil) {
            self.bundleID = bundleID
            self.environment = environment
            self.device = device
        }
    }

    /// The receipt as one that Apple vouches for, as of `now`.
    package func verify(
        _ receipt: SignedAppReceipt, expecting expected: Expectation = Expectation(), now: Timestamp
    ) throws(ReceiptFailure) -> VerifiedAppReceipt {
        let container = try CMSContainer(receipt.container)
        let (certificates, signer) = try container.certificates()
        guard let digest = container.digest() else {
            throw ReceiptFailure(.signature, "the digest that was signed is neither SHA-1 nor of the SHA-2 family")
        }
        let chain = try self.chain(certificates, signer: signer)
        try checkDate(receipt.claims.creationDate, chain: chain, now: now)
        guard container.isSigned(by: signer) else {
            throw ReceiptFailure(.signature, "the signature is not the leaf certificate's, or the content was changed")
        }
        // Signed by Apple from here on: what it says counts.
        try Self.check(receipt.claims, against: expected)
        return VerifiedAppReceipt(
            receipt: receipt.claims, chain: chain.map(VerifiedChain.Link.init), digest: digest,
            isApples: chain.last.map { ReceiptRoots.apple.fingerprints.contains($0.fingerprint) } ?? false)
    }

    // MARK: The chain

    /// Leaf, intermediate and a configured root. What the receipt brings as a root counts for nothing.
    private func chain(_ certificates: [Certificate], signer: Int) throws(ReceiptFailure) -> [Certificate] {
        let leaf = certificates[signer]
        guard leaf.hasKeyForReceipts else {
            throw ReceiptFailure(
                .certificate, "the leaf's key is neither RSA of 2048 bits or more nor on P-256 or P-384")
        }
        guard leaf.carries(.appleLeafMarker) else {
            throw ReceiptFailure(
                .certificate,
                "the leaf (\(leaf.subject)) lacks Apple's marker for App Store signing (1.2.840.113635.100.6.11.1)")
        }
        guard !leaf.isAuthority, !leaf.forbidsSigningData, !leaf.hasUnknownCriticalExtension else {
            throw ReceiptFailure(.certificate, "the leaf is not meant to sign receipts")
        }
        var failure = ReceiptFailure(.notTrusted, "the certificate that issued the leaf did not come with it")
        for (place, intermediate) in certificates.enumerated() where place != signer {
            guard leaf.namesAsIssuer(intermediate) else { continue }
            do { return [leaf, intermediate, try root(of: intermediate, under: leaf)] } catch { failure = error }
        }
        throw failure
    }

    private func root(of intermediate: Certificate, under leaf: Certificate) throws(ReceiptFailure) -> Certificate {
        guard intermediate.carries(.appleIntermediateMarker) else {
            throw ReceiptFailure(.certificate, "the intermediate lacks Apple's marker (1.2.840.113635.100.6.2.1)")
        }
        guard intermediate.isAuthority, !intermediate.forbidsSigningCertificates,
            !intermediate.hasUnknownCriticalExtension
        else { throw ReceiptFailure(.certificate, "the intermediate may not sign certificates") }
        guard leaf.isSignedForReceipts(by: intermediate) else {
            throw ReceiptFailure(.notTrusted, "the leaf names the intermediate but was not signed by it")
        }
        let candidates = roots.certificates.filter { intermediate.namesAsIssuer($0) }
        guard !candidates.isEmpty else {
            throw ReceiptFailure(.notTrusted, "the chain ends at \(intermediate.issuer), \(ChainCheck.unknownRoot)")
        }
        guard let root = candidates.first(where: { intermediate.isSignedForReceipts(by: $0) }) else {
            throw ReceiptFailure(.notTrusted, "the intermediate names a trusted root but was not signed by it")
        }
        return root
    }

    /// Receipts outlive the certificates that signed them: what counts is the day they were made. Without one it is today.
    private func checkDate(_ made: Timestamp?, chain: [Certificate], now: Timestamp) throws(ReceiptFailure) {
        let date = made ?? now
        guard date <= now + signedAhead else {
            throw ReceiptFailure(.expired, "made at \(date.rfc3339), which is ahead of the clock (\(now.rfc3339))")
        }
        guard let invalid = chain.first(where: { date < $0.notBefore || date > $0.notAfter }) else { return }
        throw ReceiptFailure(
            .expired,
            "made at \(date.rfc3339), but \(invalid.subject) is valid from \(invalid.notBefore.rfc3339) to "
                + invalid.notAfter.rfc3339)
    }

    // MARK: Whose it is

    private static func check(_ receipt: AppReceipt, against expected: Expectation) throws(ReceiptFailure) {
        if let bundleID = expected.bundleID, receipt.bundleID != bundleID {
            throw ReceiptFailure(.wrongApp, "it is for \(receipt.bundleID ?? "no app"), not for \(bundleID)")
        }
        if let environment = expected.environment, receipt.environment != environment {
            throw ReceiptFailure(
                .wrongEnvironment, "its type is \(receipt.receiptType ?? "not given"), not of \(environment.rawValue)")
        }
        if let device = expected.device, !receipt.isForDevice(device) {
            throw ReceiptFailure(.wrongDevice, "it was made for another device: the hash in it is not that of this one")
        }
    }
}

extension AppReceipt {
    /// What the receipt's type means; nil for types that are not known.
    package var environment: StoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        default: nil
        }
    }
}

/// An app receipt that Apple, or whoever else's root is trusted, signed. Only `ReceiptVerifier` makes one.
package struct VerifiedAppReceipt: Sendable {
    package let receipt: AppReceipt
    /// Leaf, intermediate, root.
    package let chain: [VerifiedChain.Link]
    /// `SHA-1` (Apple's until 2023) or one of the SHA-2 family.
    package let digest: String
    /// Whether the root is Apple's own.
    package let isApples: Bool

    fileprivate init(receipt: AppReceipt, chain: [VerifiedChain.Link], digest: String, isApples: Bool) {
        self.receipt = receipt
        self.chain = chain
        self.digest = digest
        self.isApples = isApples
    }
}
