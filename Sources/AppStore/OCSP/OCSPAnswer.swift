package import Time

/// What a responder signed about one certificate.
package struct OCSPAnswer: Sendable, Hashable {
    package enum Verdict: Sendable, Hashable {
        case good
        case revoked(at: Timestamp, reason: RevocationReason)
        /// The responder does not know the certificate.
        case unknown
    }

    package let verdict: Verdict
    package let thisUpdate: Timestamp
    package let nextUpdate: Timestamp
}

/// Why a certificate was revoked (RFC 5280, section 5.3.1).
package struct RevocationReason: Sendable, Hashable, CustomStringConvertible {
    /// Nil when the responder gave none.
    package let code: Int?

    package init(code: Int?) { self.code = code }

    package static let keyCompromise = RevocationReason(code: 1)
    package static let authorityCompromise = RevocationReason(code: 2)
    package static let superseded = RevocationReason(code: 4)
    package static let attributeAuthorityCompromise = RevocationReason(code: 10)

    /// Whether somebody else may have had the key. Whoever has it writes any date of signing, so none helps then.
    package var isCompromise: Bool {
        self == .keyCompromise || self == .authorityCompromise || self == .attributeAuthorityCompromise
    }

    package var description: String {
        switch code {
        case nil: "no reason given"
        case 0: "unspecified"
        case 1: "keyCompromise"
        case 2: "cACompromise"
        case 3: "affiliationChanged"
        case 4: "superseded"
        case 5: "cessationOfOperation"
        case 6: "certificateHold"
        case 8: "removeFromCRL"
        case 9: "privilegeWithdrawn"
        case 10: "aACompromise"
        case let code?: "reason \(code)"
        }
    }
}

/// Why there is no answer that could be believed: a code to count, a sentence to read.
package struct OCSPFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// Nothing came back, or not in time.
        case unreachable
        /// HTTP said something else than 200.
        case httpStatus
        /// The responder itself declined (try later, internal error, unauthorized…).
        case declined
        /// The answer is larger than any answer is.
        case tooLarge
        /// What came back is no OCSP answer.
        case malformed
        /// Not signed by the issuer, nor by whom the issuer made a responder.
        case signer
        /// About another certificate.
        case otherCertificate
        /// An answer to somebody else's question.
        case nonce
        /// Past its date, or without one.
        case stale
        /// Dated in the future.
        case future
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Whether nobody answered, rather than somebody who cannot be believed.
    package var isUnavailability: Bool {
        switch code {
        case .unreachable, .httpStatus, .declined: true
        case .tooLarge, .malformed, .signer, .otherCertificate, .nonce, .stale, .future: false
        }
    }
}
