package import Time

/// What is known about the revocation of one certificate.
package enum RevocationStatus: Sendable, Hashable {
    /// Not revoked, says the issuer's responder; its word counts until `until`.
    case good(until: Timestamp)
    case revoked(at: Timestamp, reason: RevocationReason)
    /// The responder does not know the certificate.
    case unknown
    /// Nobody answered; the same question may be answered later.
    case unavailable(OCSPFailure)
    /// Somebody answered, but not in a way that could be believed.
    case untrustworthy(OCSPFailure)
    /// The certificate names no responder.
    case noResponder
    /// The certificate itself is past its end.
    case expired

    init(_ verdict: OCSPAnswer.Verdict, until: Timestamp) {
        switch verdict {
        case .good: self = .good(until: until)
        case .revoked(let at, let reason): self = .revoked(at: at, reason: reason)
        case .unknown: self = .unknown
        }
    }

    init(_ failure: OCSPFailure) {
        self = failure.isUnavailability ? .unavailable(failure) : .untrustworthy(failure)
    }

    /// A word for metrics, logs and scripts.
    package var code: String {
        switch self {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        case .unavailable: "unavailable"
        case .untrustworthy: "untrustworthy"
        case .noResponder: "noResponder"
        case .expired: "expired"
        }
    }

    /// Whether asking led to nothing, so that nobody knows.
    package var isUndecided: Bool {
        switch self {
        case .unknown, .unavailable, .untrustworthy: true
        case .good, .revoked, .noResponder, .expired: false
        }
    }
}

extension RevocationStatus: CustomStringConvertible {
    package var description: String {
        switch self {
        case .good(let until): "not revoked, good until \(until.rfc3339)"
        case .revoked(let at, let reason): "revoked at \(at.rfc3339) (\(reason))"
        case .unknown: "the responder does not know it"
        case .unavailable(let failure): "nobody could say: \(failure)"
        case .untrustworthy(let failure): "nobody could say: \(failure)"
        case .noResponder: "it names no responder to ask"
        case .expired: "it has expired, so responders no longer speak of it"
        }
    }
}
