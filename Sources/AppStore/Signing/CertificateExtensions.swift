/// The extensions that Apple's three certificates carry.
extension CertificateTemplate.Extension {
    /// Apple's mark on certificates that sign App Store receipts and payloads.
    package static let appleLeafMarker = Self(AppleMarker.leaf, value: DER.null)
    /// Apple's mark on the Worldwide Developer Relations intermediates.
    package static let appleIntermediateMarker = Self(AppleMarker.intermediate, value: DER.null)

    package static func basicConstraints(isAuthority: Bool, pathLength: UInt8? = nil, isCritical: Bool = true) -> Self {
        let content = (isAuthority ? DER.boolean(true) : []) + (pathLength.map { DER.integer([$0]) } ?? [])
        return Self([2, 5, 29, 19], isCritical: isCritical, value: DER.sequence(content))
    }

    /// Signs certificates and revocation lists.
    package static let signsCertificates = Self([2, 5, 29, 15], isCritical: true, value: DER.bits([0x06], unused: 1))
    /// Signs data.
    package static let signsData = Self([2, 5, 29, 15], isCritical: true, value: DER.bits([0x80], unused: 7))

    /// Signs OCSP answers for the issuer.
    package static let signsOCSP = Self(
        [2, 5, 29, 37], value: DER.sequence(DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 3, 9])))

    static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self([2, 5, 29, 14], value: DER.octets(identifier))
    }

    static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self([2, 5, 29, 35], value: DER.sequence(DER.value(0x80, identifier)))
    }

    /// Where the issuer's certificate and its OCSP responder are.
    static func authorityAccess(issuers: String?, responder: String) -> Self {
        func access(_ method: UInt64, _ address: String) -> [UInt8] {
            DER.sequence(
                DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 48, method]), DER.value(0x86, Array(address.utf8)))
        }
        return Self(
            [1, 3, 6, 1, 5, 5, 7, 1, 1],
            value: DER.sequence((issuers.map { access(2, $0) } ?? []) + access(1, responder)))
    }

    static func revocationList(_ address: String) -> Self {
        let name = DER.value(0xA0, DER.value(0xA0, DER.value(0x86, Array(address.utf8))))
        return Self([2, 5, 29, 31], value: DER.sequence(DER.sequence(name)))
    }

    /// A policy with the long notice that makes Apple's leaf as large as it is.
    static func policy(notice: String, practice: String) -> Self {
        let user = DER.sequence(
            DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 2, 2]), DER.sequence(DER.text(notice)))
        let statement = DER.sequence(
            DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 2, 1]), DER.value(0x16, Array(practice.utf8)))
        let policy = DER.objectIdentifier([1, 2, 840, 113635, 100, 5, 6, 1])
        return Self([2, 5, 29, 32], value: DER.sequence(DER.sequence(policy, DER.sequence(user, statement))))
    }
}

/// The object identifiers by which Apple marks the certificates that may sign for the App Store.
package enum AppleMarker {
    package static let leaf: [UInt64] = [1, 2, 840, 113635, 100, 6, 11, 1]
    package static let intermediate: [UInt64] = [1, 2, 840, 113635, 100, 6, 2, 1]
}
