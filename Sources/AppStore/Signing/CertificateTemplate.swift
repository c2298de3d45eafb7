internal import CCrypto
package import Time

/// What a certificate shall say; `signed(by:)` makes it one.
package struct CertificateTemplate: Sendable {
    /// One extension, its value already in DER.
    package struct Extension: Sendable {
        package var identifier: [UInt64]
        package var isCritical: Bool
        package var value: [UInt8]

        package init(_ identifier: [UInt64], isCritical: Bool = false, value: [UInt8]) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.value = value
        }
    }

    /// The parts of a name that Apple's certificates have, in their order.
    package struct Name: Sendable {
        package var commonName: String
        package var unit: String
        package var organization = "Holdfast Simulator"
        package var country = "US"

        package init(commonName: String, unit: String) {
            self.commonName = commonName
            self.unit = unit
        }

        var der: [UInt8] {
            func part(_ last: UInt64, _ tag: UInt8, _ text: String) -> [UInt8] {
                DER.set(DER.sequence(DER.objectIdentifier([2, 5, 4, last]), DER.value(tag, Array(text.utf8))))
            }
            // The country is a PrintableString by rule, the rest are UTF-8.
            return DER.sequence(
                part(3, 0x0C, commonName), part(11, 0x0C, unit), part(10, 0x0C, organization), part(6, 0x13, country))
        }
    }

    package var subject: Name
    package var issuer: Name
    package var notBefore: Timestamp
    package var notAfter: Timestamp
    package var subjectPublicKeyInfo: [UInt8]
    package var extensions: [Extension]

    package init(
        subject: Name, issuer: Name, notBefore: Timestamp, notAfter: Timestamp, subjectPublicKeyInfo: [UInt8],
        extensions: [Extension]
    ) {
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        self.extensions = extensions
    }

    /// The certificate, DER, signed by `key` with the digest that fits its curve.
    package func signed(by key: SigningKey) throws(SigningError) -> [UInt8] {
        // ecdsa-with-SHA256 and ecdsa-with-SHA384.
        let algorithm = DER.sequence(DER.objectIdentifier([1, 2, 840, 10045, 4, 3, key.curve == .p256 ? 2 : 3]))
        var serial = [UInt8](repeating: 0, count: 16)
        guard unsafe RAND_bytes(&serial, Int32(serial.count)) == 1 else {
            throw SigningError(.openSSL, "OpenSSL has no random bytes")
        }
        serial[0] = serial[0] & 0x7F | 0x40
        let written = extensions.flatMap { one in
            DER.sequence(
                DER.objectIdentifier(one.identifier), one.isCritical ? DER.boolean(true) : [], DER.octets(one.value))
        }
        let body = DER.sequence(
            DER.value(0xA0, DER.integer([2])), DER.integer(serial), algorithm, issuer.der,
            DER.sequence(DER.time(notBefore), DER.time(notAfter)), subject.der, subjectPublicKeyInfo,
            DER.value(0xA3, DER.sequence(written)))
        return DER.sequence(body, algorithm, DER.bits(try key.derSignature(of: body)))
    }
}
