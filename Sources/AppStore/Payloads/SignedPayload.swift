package import Time

/// A payload that can be read from what Apple signed.
package protocol SignedPayload: Sendable {
    static var kind: PayloadKind { get }

    /// Reads a JSON object; a member of the wrong type costs that member and leaves a warning.
    init(json: [UInt8]) throws(PayloadError)

    /// Every member of such a payload, as it was read, for people who look into it.
    static func fields(of json: [UInt8]) throws(PayloadError) -> [PayloadField]

    /// Whether the members are there by which this kind is told.
    var isOfItsKind: Bool { get }
    /// When Apple signed it.
    var dateOfSigning: Timestamp? { get }
    /// Whose it says it is.
    var origin: PayloadOrigin { get }
    var warnings: [PayloadWarning] { get }

    /// The members that decide about access: a damaged one makes the whole payload unusable until somebody has looked,
    /// because an expiry date that cannot be read must not count as "never expires".
    static var decisive: Set<String> { get }
    /// The members that are missing and without which it is of no use.
    var missing: [String] { get }
}

extension SignedPayload {
    /// All that keeps a payload of this kind from being used, although it was properly signed.
    package var damage: [VerificationFailure] {
        let damaged = warnings.filter { Self.decisive.contains($0.field) }
        let names = Set(damaged.map(\.field))
        return damaged.map { VerificationFailure(.payload, Self.kind.part, $0.description) }
            + missing.filter { !names.contains($0) }.map {
                VerificationFailure(.payload, Self.kind.part, "\($0) is missing")
            }
    }

    /// The names of those that have no value.
    static func missing(_ members: KeyValuePairs<String, Bool>) -> [String] {
        members.filter { !$0.value }.map(\.key)
    }
}

extension String? {
    /// Whether there is a text, and not an empty one.
    var isThere: Bool { self?.isEmpty == false }
}

/// Which app and environment a payload names, whatever its kind calls them.
package struct PayloadOrigin: Sendable, Hashable {
    package var bundleID: String?
    package var appAppleID: Int64?
    package var environment: Raw<PayloadEnvironment>?

    package init(
        bundleID: String? = nil, appAppleID: Int64? = nil, environment: Raw<PayloadEnvironment>? = nil
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
    }
}

/// A payload whose signature, chain and date of signing have been verified; nothing else makes one.
package struct Verified<Payload: SignedPayload>: Sendable {
    package let payload: Payload
    /// The payload's JSON text, as signed.
    package let bytes: [UInt8]
    package let chain: VerifiedChain

    init(payload: Payload, bytes: [UInt8], chain: VerifiedChain) {
        self.payload = payload
        self.bytes = bytes
        self.chain = chain
    }

    /// SHA-256 of the signed bytes, hexadecimal.
    package var hash: String { SHA256.hexadecimal(bytes) }
}
