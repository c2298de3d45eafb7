/// The roots that app receipts lead to.
///
/// Receipts are signed with RSA under the old "Apple Root CA"; should Apple move them under its root for elliptic curves, as
/// it did with everything else, that one is trusted too.
package struct ReceiptRoots: Sendable {
    let certificates: [Certificate]

    /// Apple Root CA and Apple Root CA - G3, and nothing else.
    package static let apple = ReceiptRoots(
        // Fails closed: a root that cannot be read is not trusted. A test reads both and their fingerprints.
        certificates: [Base64.decode(appleRootCA), AppleRoot.der].compactMap { $0.flatMap(Certificate.init(der:)) })

    private init(certificates: [Certificate]) { self.certificates = certificates }

    /// Roots from a file's content: one certificate in DER, or any number in PEM.
    package init(file bytes: [UInt8]) throws(TrustedRootsError) {
        var ders = [bytes]
        if bytes.first != 0x30 {
            guard let blocks = PEM.decode(String(decoding: bytes, as: UTF8.self), label: "CERTIFICATE") else {
                throw .unreadable
            }
            ders = blocks
        }
        guard !ders.isEmpty else { throw .noCertificate }
        var certificates: [Certificate] = []
        for der in ders {
            guard let certificate = Certificate(der: der) else { throw .unreadable }
            guard certificate.isAuthority, !certificate.forbidsSigningCertificates else {
                throw .notAnAuthority(certificate.subject)
            }
            guard certificate.hasKeyForReceipts else { throw .unsupportedKey(certificate.subject) }
            certificates.append(certificate)
        }
        self.init(certificates: certificates)
    }

    /// These roots and those of `others`.
    package func adding(_ others: ReceiptRoots) -> ReceiptRoots {
        ReceiptRoots(certificates: certificates + others.certificates)
    }

    /// SHA-256 fingerprints, lower-case hexadecimal.
    package var fingerprints: [String] { certificates.map(\.fingerprint) }

    /// Apple Root CA as published on www.apple.com/certificateauthority ("Apple Inc. Root").
    ///
    /// SHA-256 B0:B1:73:0E:CB:C7:FF:45:05:14:2C:49:F1:29:5E:6E:DA:6B:CA:ED:7E:2C:68:C5:BE:91:B5:A1:10:01:F0:24
    private static let appleRootCA = """
        MIIEuzCCA6OgAwIBAgIBAjANBgkqhkiG9w0BAQUFADBiMQswCQYDVQQGEwJVUzETMBEGA1UEChMKQXBwbGUgSW5jLjEmMCQGA1UE\
        CxMdQXBwbGUgQ2VydGlmaWNhdGlvbiBBdXRob3JpdHkxFjAUBgNVBAMTDUFwcGxlIFJvb3QgQ0EwHhcNMDYwNDI1MjE0MDM2WhcN\
        MzUwMjA5MjE0MDM2WjBiMQswCQYDVQQGEwJVUzETMBEGA1UEChMKQXBwbGUgSW5jLjEmMCQGA1UECxMdQXBwbGUgQ2VydGlmaWNh\
        dGlvbiBBdXRob3JpdHkxFjAUBgNVBAMTDUFwcGxlIFJvb3QgQ0EwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDkkakJ\
        H5HbHkdQ6wXtXnmELes2oldMVeyLGYne+Uts9QerIjAC6Bg++FAJ039BqJj50cpmnCRrEdCju+QbKsMflZ56DKRHi1vUFjczy8QP\
        Tc4UadHJGXL1XQ7Vf1+b8iUDulWPTV0N8WQ1IxVLFVkds5T39pyez1C6wVhQZ48ItCD3y6wsIG9wtj8BMIy3Q88PnT3zK0koGsj+\
        zrW5DtleHNbLPbU6rfQPDgCSC7EhFi501TwN22IWq6NxkkdTVcGvL0Gz+PvjcM3mo0xFfh9Ma1CWQYnEdGILEINBhzOKgbEwWOxa\
        BDKMaLOPHd5lc/9nXmW8Sdh2nzMUZaF3lMktAgMBAAGjggF6MIIBdjAOBgNVHQ8BAf8EBAMCAQYwDwYDVR0TAQH/BAUwAwEB/zAd\
        BgNVHQ4EFgQUK9BpR5R2Cf70a40uQKb3R01/CF4wHwYDVR0jBBgwFoAUK9BpR5R2Cf70a40uQKb3R01/CF4wggERBgNVHSAEggEI\
        MIIBBDCCAQAGCSqGSIb3Y2QFATCB8jAqBggrBgEFBQcCARYeaHR0cHM6Ly93d3cuYXBwbGUuY29tL2FwcGxlY2EvMIHDBggrBgEF\
        BQcCAjCBthqBs1JlbGlhbmNlIG9uIHRoaXMgY2VydGlmaWNhdGUgYnkgYW55IHBhcnR5IGFzc3VtZXMgYWNjZXB0YW5jZSBvZiB0\
        aGUgdGhlbiBhcHBsaWNhYmxlIHN0YW5kYXJkIHRlcm1zIGFuZCBjb25kaXRpb25zIG9mIHVzZSwgY2VydGlmaWNhdGUgcG9saWN5\
        IGFuZCBjZXJ0aWZpY2F0aW9uIHByYWN0aWNlIHN0YXRlbWVudHMuMA0GCSqGSIb3DQEBBQUAA4IBAQBcNplMLXi37Yyb3PN3m/J2\
        0ncwT8EfhYOFG5k9RzfyqZtAjizUsZAS2L70c5vu0mQPy3lPNNiiPvl4/2vIB+x9OYOLUyDTOMSxv5pPCmv/K/xZpwUJfBdAVhEe\
        dNO3iyM7R6PVbyTi69G3cN8PReEnyvFteO3ntRcXqNx+IjXKJdXZD9Zr1KIkIxH3oayPc4FgxhtbCS+SsvhESPBgOJ4V9T0mZyCK\
        M2r3DYLP3uujL/lTaltkwGMzd/c6ByxW69oPIQ7aunMZT7XZNn/Bh1XZp5m5MkL72NVxnn6hUrcbvZNCJBIqxw8dtk2cXmPIS4AX\
        UKqK1drk/NAJBzewdXUh
        """
}
