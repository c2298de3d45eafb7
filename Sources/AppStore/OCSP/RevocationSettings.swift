package import Runtime

/// What is done about revoked certificates.
///
/// | a certificate is | off | soft | hard |
/// |---|---|---|---|
/// | good | not asked | passes | passes |
/// | revoked, data signed at or after the revocation | not asked | fails for good | fails for good |
/// | revoked because a key got into other hands, whenever the data was signed | not asked | fails for good | fails for good |
/// | revoked otherwise, data signed before | not asked | passes | passes |
/// | unknown to the responder; nobody answers; the answer cannot be believed | not asked | passes, counted | fails for now |
/// | without an OCSP address | not asked | passes | passes |
/// | expired | not asked | passes | passes |
///
/// *Signed before the revocation* passes because signed data is kept and read again for years, and the date of signing
/// is what it is judged by (as with the certificates' own dates). A lost key makes that date worthless: whoever has it
/// writes what date they like.
///
/// *Without an address* passes even in `hard`: what the issuer signed says that there is nobody to ask, only the issuer
/// can leave the address out, and no waiting would change it. Apple's own certificates have one.
///
/// *Expired* passes because responders forget certificates that are past their end, while data that was signed before
/// lives on: devices keep transactions for years. The chain was valid when the data was signed, or verification would
/// have failed before. What this gives up: whoever holds a key that was revoked once and has expired since can sign
/// data dated into its lifetime.
package struct RevocationSettings: Sendable {
    package enum Mode: String, Sendable, CaseIterable { case off, soft, hard }

    package var mode = Mode.off
    /// From the question to the end of the answer.
    package var timeout = Duration.seconds(5)
    /// When an answer is asked for again although it is still good. If nobody answers then, it goes on counting.
    package var maximumAge = Duration.seconds(3600)
    /// How long nobody is asked again who could not answer.
    package var retryAfter = Duration.seconds(30)
    /// How far a responder's clock and ours may lie apart.
    package var skew = Duration.seconds(60)
    /// Certificates whose status is kept.
    package var certificates = 64
    /// Whether questions carry a nonce.
    package var nonce = true
    /// URL of a proxy through which responders are asked.
    package var proxy: String?

    package init() {}

    /// Answers are a few hundred bytes, with a responder's certificate two thousand.
    static let answerLimit = 64 << 10
}

extension RevocationSettings {
    /// Reads `appStore.revocation` and the keys under `appStore.ocsp`.
    package init(_ settings: inout SettingsReader) {
        self.init()
        mode = settings.choice(
            "appStore.revocation", default: mode,
            "Whether the consumer asks by OCSP if Apple's certificates are revoked. soft: what a revoked one signed goes "
                + "to quarantine, no answer lets pass. hard: no answer sends to a retry level.")
        timeout = settings.duration(
            "appStore.ocsp.timeout", default: timeout, in: .milliseconds(100) ... .seconds(60),
            "How long an OCSP responder may take to answer.")
        maximumAge = settings.duration(
            "appStore.ocsp.maximumAge", default: maximumAge, in: .seconds(1) ... .seconds(7 * 86_400),
            "When an OCSP answer is asked for again although it is still good.")
        retryAfter = settings.duration(
            "appStore.ocsp.retryAfter", default: retryAfter, in: .milliseconds(100) ... .seconds(3600),
            "How long a responder that gave no usable answer is not asked again.")
        skew = settings.duration(
            "appStore.ocsp.skew", default: skew, in: .zero ... .seconds(3600),
            "How far a responder's clock and ours may lie apart.")
        certificates = settings.integer(
            "appStore.ocsp.certificates", default: certificates, in: 2...4096,
            "Certificates whose status is kept; there are two to a chain.")
        nonce = settings.boolean(
            "appStore.ocsp.nonce", default: nonce,
            "Send a nonce with each question; an answer may leave it out, but not carry another one.")
        proxy = settings.optionalString(
            "appStore.ocsp.proxy",
            "URL of a proxy through which OCSP responders are asked, such as http://proxy.internal:3128.")
        if let proxy, !["http://", "https://", "socks5h://"].contains(where: { proxy.hasPrefix($0) }) {
            settings.complain(about: "appStore.ocsp.proxy", "must begin with http://, https:// or socks5h://")
        }
    }
}
