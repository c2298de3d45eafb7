package import Entitlements
package import JSON
package import Time

/// What a signed text is, who signed it, and everything that is wrong with it: for people who look into a case.
///
/// It tells of payloads that failed verification too, so it is no source of facts: nothing in it leads to an
/// `Observation`.
package struct VerificationReport: Sendable {
    /// What the signed data is expected to be for; what is nil is not checked.
    package struct Expectation: Sendable {
        package var bundleID: String?
        package var appAppleID: Int64?
        package var environment: StoreEnvironment?

        package init(bundleID: String? = nil, appAppleID: Int64? = nil, environment: StoreEnvironment? = nil) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
            self.environment = environment
        }
    }

    package enum Signer: String, Sendable {
        /// Under Apple's own root.
        case apple
        /// Under a root that was given instead.
        case givenRoot
        /// By Xcode or another local test: one certificate, which anybody can make.
        case localTest
        case nobody
    }

    /// One JWS.
    package struct Part: Sendable {
        /// Where in its envelope it was found, such as `data.signedTransactionInfo`; nil for the outermost.
        package let place: String?
        package internal(set) var kind: PayloadKind?
        package internal(set) var payload: JSONValue?
        /// The members as they were read, nested ones too; empty when nothing is known of its kind.
        package internal(set) var fields: [PayloadField] = []
        /// The certificates in the header; of a chain that was verified, the last is the trusted root instead.
        package internal(set) var certificates: [VerifiedChain.Link] = []
        /// The chain that was verified; nil when none was.
        package internal(set) var chain: VerifiedChain?
        /// Whether those of `certificates` that were asked about are revoked; empty unless somebody asked.
        package internal(set) var revocation: [RevocationStatus] = []
        package internal(set) var signer = Signer.nobody
        package internal(set) var problems: [VerificationFailure] = []
        package internal(set) var warnings: [PayloadWarning] = []

        init(place: String?) { self.place = place }
    }

    /// What the whole is about, when nothing is wrong with it.
    package enum Effect: Sendable, Hashable {
        /// A notification that changes what is known of a lineage.
        case applied(StoreEnvironment, originalTransactionID: String)
        /// A notification about no purchase.
        case noted
        /// A transaction by itself.
        case transaction(StoreEnvironment, originalTransactionID: String)
        /// Renewal information by itself, which names no app and counts only beside a transaction.
        case renewalInfo(StoreEnvironment, originalTransactionID: String)
    }

    package internal(set) var parts: [Part]
    private let found: Effect?
    package var effect: Effect? { isFine ? found : nil }

    /// What a notification of this type and subtype means; nil for what is none.
    package var row: NotificationRow? {
        guard let envelope = parts.first, envelope.kind == .notification else { return nil }
        return NotificationTable.row(
            type: envelope.payload?["notificationType"]?.string, subtype: envelope.payload?["subtype"]?.string)
    }

    package var isFine: Bool { !parts.isEmpty && parts.allSatisfy(\.problems.isEmpty) }

    /// Looks at a notification body or at a bare JWS of any kind; white space around it does not matter.
    package init(
        of bytes: [UInt8], verifier: JWSVerifier, expecting expectation: Expectation = Expectation(), now: Timestamp
    ) {
        let inspection = Inspection(source: .network(verifier), expectation: expectation, now: now)
        (parts, found) = inspection.look(at: bytes)
    }

    /// Looks at what Xcode or another local test signed, and takes it for nothing else.
    package init(ofLocalTest bytes: [UInt8], expecting bundleID: String? = nil) {
        let inspection = Inspection(
            source: .localTest, expectation: Expectation(bundleID: bundleID), now: Timestamp(milliseconds: 0))
        (parts, found) = inspection.look(at: bytes)
    }
}
