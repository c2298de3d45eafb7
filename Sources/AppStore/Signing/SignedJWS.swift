/// Makes compact JWS (RFC 7515) with ES256.
package enum SignedJWS {
    /// `header` and `payload` are JSON texts; the result is `header.payload.signature` in base64url.
    package static func make(header: [UInt8], payload: [UInt8], key: SigningKey) throws(SigningError) -> String {
        var text = Base64URL.encodeBytes(header)
        text.append(UInt8(ascii: "."))
        text += Base64URL.encodeBytes(payload)
        let signature = try key.es256Signature(of: text)
        text.append(UInt8(ascii: "."))
        text += Base64URL.encodeBytes(signature)
        return String(decoding: text, as: UTF8.self)
    }

    /// The header that Apple writes: the algorithm and the certificates, leaf first.
    package static func header(x5c: [[UInt8]]) -> [UInt8] {
        let certificates = x5c.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        return Array("{\"alg\":\"ES256\",\"x5c\":[\(certificates)]}".utf8)
    }
}
