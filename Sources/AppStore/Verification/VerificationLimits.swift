/// The bounds of verification.
package struct VerificationLimits: Sendable {
    /// Verified chains that are kept.
    package var cachedChains = 32
    /// How long a verified chain counts before its certificates are looked at again.
    package var chainAge: Duration = .seconds(3600)
    /// Unknown chains that are checked within a second; what comes beyond is told to come back. Each costs more than
    /// a millisecond of a core, and Apple changes its chain about once a year.
    package var unknownChainsPerSecond = 100
    /// How far ahead of the clock a date of signing may lie.
    package var signedAhead: Duration = .seconds(3600)

    package init() {}
}
