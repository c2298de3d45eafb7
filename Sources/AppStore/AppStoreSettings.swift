package import Runtime

/// ## Keys
/// - `appStore.roots`: roots to trust instead of Apple's, for a simulator.
/// - `appStore.signedAhead`: how far ahead of our clock a date of signing may lie.
/// - `appStore.cachedChains`, `appStore.chainAge`: how many verified chains are kept, and for how long.
/// - `appStore.unknownChainsPerSecond`: how many unknown chains are checked; the bound on what a forger can cost.
/// - `appStore.revocation`, `appStore.ocsp.*`: whether and how certificates are checked for revocation.
package struct AppStoreSettings: Sendable {
    package var roots: TrustedRoots
    package var limits: VerificationLimits
    package var revocation: RevocationSettings

    package init(
        roots: TrustedRoots = .apple, limits: VerificationLimits = VerificationLimits(),
        revocation: RevocationSettings = RevocationSettings()
    ) {
        self.roots = roots
        self.limits = limits
        self.revocation = revocation
    }

    package init(_ settings: inout SettingsReader) {
        var limits = VerificationLimits()
        let files = settings.strings(
            "appStore.roots",
            "Root certificates (PEM or DER) to trust instead of Apple's, for a simulator. Whoever holds their keys can "
                + "grant anything: leave it empty wherever real customers are served.")
        limits.signedAhead = settings.duration(
            "appStore.signedAhead", default: limits.signedAhead, in: .seconds(1) ... .seconds(86_400),
            "How far ahead of the clock Apple may have signed; what lies beyond goes to quarantine.")
        limits.cachedChains = settings.integer(
            "appStore.cachedChains", default: limits.cachedChains, in: 1...1024,
            "Verified certificate chains that are kept.")
        limits.chainAge = settings.duration(
            "appStore.chainAge", default: limits.chainAge, in: .seconds(1) ... .seconds(86_400),
            "How long a verified certificate chain counts before it is checked again.")
        limits.unknownChainsPerSecond = settings.integer(
            "appStore.unknownChainsPerSecond", default: limits.unknownChainsPerSecond, in: 1...100_000,
            "Unknown certificate chains that are checked within a second; senders beyond are asked to come back.")
        self.limits = limits
        revocation = RevocationSettings(&settings)
        roots = .apple
        var own: TrustedRoots?
        for path in files {
            settings.note(path, of: "appStore.roots", holdsSecret: false)
            do {
                let more = try TrustedRoots(file: try File.regularBytes(at: path, limit: 1 << 20))
                own = own?.adding(more) ?? more
            } catch {
                settings.complain(about: "appStore.roots", "\(path): \(error)")
            }
        }
        if let own { roots = own }
    }

    /// The verifier that these settings describe; one serves the whole process.
    package func verifier() -> JWSVerifier { JWSVerifier(roots: roots, limits: limits) }
}
