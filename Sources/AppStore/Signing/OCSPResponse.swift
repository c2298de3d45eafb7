internal import CCrypto
package import Time

/// An OCSP answer of our own making (RFC 6960, section 4.2): for simulators, and for tests that need a crooked one.
package struct OCSPResponse: Sendable {
    package enum Status: Sendable {
        case good
        case revoked(at: Timestamp, reason: Int?)
        case unknown
    }

    /// What is said of one certificate.
    package struct Single: Sendable {
        /// CertID in DER, as the question has it.
        package var certificate: [UInt8]
        package var status: Status
        package var thisUpdate: Timestamp
        package var nextUpdate: Timestamp?

        package init(certificate: [UInt8], status: Status, thisUpdate: Timestamp, nextUpdate: Timestamp?) {
            self.certificate = certificate
            self.status = status
            self.thisUpdate = thisUpdate
            self.nextUpdate = nextUpdate
        }

        fileprivate var der: [UInt8] {
            let verdict: [UInt8] =
                switch status {
                case .good: [0x80, 0]
                case .unknown: [0x82, 0]
                case .revoked(let at, let reason):
                    DER.value(
                        0xA1,
                        DER.generalizedTime(at)
                            + (reason.map { DER.value(0xA0, DER.value(0x0A, [UInt8(clamping: $0)])) } ?? []))
                }
            return DER.sequence(
                certificate, verdict, DER.generalizedTime(thisUpdate),
                nextUpdate.map { DER.value(0xA0, DER.generalizedTime($0)) } ?? [])
        }
    }

    package var answers: [Single]
    package var producedAt: Timestamp
    /// The value of the nonce extension.
    package var nonce: [UInt8]?
    /// Certificates that come along, such as that of a responder who is not the issuer.
    package var certificates: [[UInt8]]

    package init(answers: [Single], producedAt: Timestamp, nonce: [UInt8]? = nil, certificates: [[UInt8]] = []) {
        self.answers = answers
        self.producedAt = producedAt
        self.nonce = nonce
        self.certificates = certificates
    }

    /// The answer in DER, signed by `key`, which it also names as the responder's.
    package func signed(by key: SigningKey) throws(SigningError) -> [UInt8] {
        let name = DER.value(0xA2, DER.octets(Self.keyHash(try key.subjectPublicKeyInfo(), key.curve)))
        let identifier = DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 48, 1, 2])
        let extensions = nonce.map {
            DER.value(0xA1, DER.sequence(DER.sequence(identifier, DER.octets($0))))
        }
        let data = DER.sequence(
            name, DER.generalizedTime(producedAt), DER.sequence(answers.flatMap(\.der)), extensions ?? [])
        let algorithm = DER.sequence(DER.objectIdentifier([1, 2, 840, 10045, 4, 3, key.curve == .p256 ? 2 : 3]))
        let basic = DER.sequence(
            data, algorithm, DER.bits(try key.derSignature(of: data)),
            certificates.isEmpty ? [] : DER.value(0xA0, DER.sequence(certificates.flatMap(\.self))))
        let type = DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 48, 1, 1])
        return DER.sequence(
            DER.value(0x0A, [0]), DER.value(0xA0, DER.sequence(type, DER.octets(basic))))
    }

    /// An answer that says nothing: 1 malformed request, 2 internal error, 3 try later, 6 unauthorized.
    package static func declined(_ status: UInt8) -> [UInt8] { DER.sequence(DER.value(0x0A, [status])) }

    /// SHA-1 of the key's point, which ends its public form.
    private static func keyHash(_ subjectPublicKeyInfo: [UInt8], _ curve: Curve) -> [UInt8] {
        let point = Array(subjectPublicKeyInfo.suffix(2 &* curve.fieldSize &+ 1))
        var digest = [UInt8](repeating: 0, count: 20)
        _ = unsafe SHA1(point, point.count, &digest)
        return digest
    }
}

extension DER {
    /// GeneralizedTime whatever the year, as OCSP wants it; whole seconds.
    static func generalizedTime(_ instant: Timestamp) -> [UInt8] {
        let digits = instant.rfc3339.utf8.filter { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.prefix(14)
        return value(0x18, Array(digits) + [UInt8(ascii: "Z")])
    }
}
