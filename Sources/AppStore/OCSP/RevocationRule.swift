internal import Time

/// Decides what the status of a certificate means for data that it signed (the table of `RevocationSettings`).
struct RevocationRule {
    let mode: RevocationSettings.Mode

    /// Why data signed at `signedAt` fails; nil when it passes.
    func failure(
        _ status: RevocationStatus, of certificate: VerifiedChain.Link, signedAt: Timestamp,
        part: VerificationFailure.Part
    ) -> VerificationFailure? {
        guard mode != .off else { return nil }
        switch status {
        case .good, .noResponder, .expired: return nil
        case .revoked(let at, let reason):
            guard reason.isCompromise || signedAt >= at else { return nil }
            return VerificationFailure(
                .revoked, part, "\(certificate.subject) was revoked at \(at.rfc3339) (\(reason))")
        case .unknown, .unavailable, .untrustworthy:
            guard mode == .hard else { return nil }
            return VerificationFailure(
                .revocationUnknown, part, "whether \(certificate.subject) is revoked is not known: \(status)")
        }
    }
}
