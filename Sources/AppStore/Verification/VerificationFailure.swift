/// Why signed data was not accepted: a code to switch on, a sentence to read, and which part it is about.
package struct VerificationFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// Not a notification body, not a compact JWS, or not strictly encoded.
        case malformed
        /// Signed by something else than ES256, or with header parameters that must be understood and are not.
        case algorithm
        /// Not exactly three certificates.
        case chainLength
        /// A certificate that cannot be read or must not sign for the App Store.
        case certificate
        /// A certificate was not valid on the date of signing.
        case expired
        /// The certificates do not lead to a trusted root.
        case notTrusted
        /// The certificates are good, but the signature is not theirs.
        case signature
        /// Properly signed, but not JSON, or a field that matters is missing or unreadable.
        case payload
        /// Properly signed, but of a shape that is not known yet, so whose it is cannot be told.
        case unknownShape
        /// Properly signed, but another kind of payload than expected here.
        case wrongKind
        /// Properly signed, but for another app.
        case wrongApp
        /// Properly signed, but from another environment than is allowed here.
        case wrongEnvironment
        /// A nested part contradicts what surrounds it.
        case disagreement
        /// Properly signed, but dated in the future.
        case signedTooFarAhead
        /// The certificates are good, but one of them was revoked before or at the date of signing, or its key was lost.
        case revoked
        /// Nobody could say whether a certificate is revoked, and the settings insist on knowing.
        case revocationUnknown
        /// Too many unknown chains at this moment to look at one more.
        case busy
        /// The check itself could not be carried out.
        case undecidable
    }

    /// What the failure is about.
    package enum Part: String, Sendable {
        case notification, transaction, renewalInfo, appTransaction, realtimeRequest, payload
    }

    /// What becomes of data that failed so (rulings 4 and 5 of the design).
    package enum Disposition: String, Sendable {
        /// Nobody vouches for it: refuse and count.
        case refuse
        /// Apple signed it, or it could not be judged for a passing reason: keep it in quarantine.
        case quarantine
        /// Ask the sender to come back.
        case retryLater
    }

    package let code: Code
    package let part: Part
    package let sentence: String
    /// Whether it is a part inside a signed envelope.
    package let isNested: Bool

    package init(_ code: Code, _ part: Part, _ sentence: String, isNested: Bool = false) {
        self.code = code
        self.part = part
        self.sentence = sentence
        self.isNested = isNested
    }

    /// Whether the same bytes may pass later.
    package var isRetryable: Bool { code == .busy || code == .undecidable || code == .revocationUnknown }

    package var disposition: Disposition {
        switch code {
        case .malformed, .algorithm, .chainLength, .certificate, .expired, .notTrusted, .signature, .revoked:
            // What surrounds a nested part is Apple's, and that is worth keeping.
            isNested ? .quarantine : .refuse
        case .payload, .unknownShape, .wrongKind, .wrongApp, .wrongEnvironment, .disagreement, .signedTooFarAhead,
            .undecidable:
            .quarantine
        case .busy, .revocationUnknown: .retryLater
        }
    }

    package var description: String { "\(part.rawValue): \(sentence) (\(code.rawValue))" }

    /// The same failure, of a part inside a signed envelope.
    package var nested: VerificationFailure { VerificationFailure(code, part, sentence, isNested: true) }
}
