internal import CCrypto

/// A Lua script, sent by its digest and in full only to a server that does not know it yet.
package struct RedisScript: Sendable {
    package let source: String
    /// SHA-1 in hexadecimal, as EVALSHA wants it.
    package let digest: String
    /// Whether what it writes counts as stored only once as many replicas have it as the settings want.
    package let isOfRecord: Bool

    package init(_ source: String, isOfRecord: Bool = true) {
        self.source = source
        self.isOfRecord = isOfRecord
        let bytes = Array(source.utf8)
        var hash = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        _ = unsafe SHA1(bytes, bytes.count, &hash)
        digest = String(
            decoding: hash.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
