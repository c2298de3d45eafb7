import AppStore
import Testing

/// Verification with a table of the key's multiples agrees with OpenSSL's own in everything.
@Suite struct KeyTableTests {
    let key: SigningKey
    let plain: VerifyingKey
    let table: KeyTable

    init() throws {
        key = try SigningKey()
        plain = try key.verifyingKey()
        table = try #require(KeyTable(plain))
    }

    /// The order of P-256, and its prime.
    static let order = bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        stride(from: 0, to: hexadecimal.utf8.count, by: 2).compactMap {
            UInt8(String(hexadecimal.dropFirst($0).prefix(2)), radix: 16)
        }
    }

    /// order - number
    static func complement(_ number: ArraySlice<UInt8>) -> [UInt8] {
        var borrow = 0
        return zip(order, number).reversed().map { pair in
            let difference = Int(pair.0) - Int(pair.1) - borrow
            borrow = difference < 0 ? 1 : 0
            return UInt8(truncatingIfNeeded: difference)
        }.reversed()
    }

    @Test func whatTheKeySignedIsAccepted() throws {
        for number in 0..<300 {
            let message = Array("message \(number)".utf8)
            let signature = try key.es256Signature(of: message)
            let digest = SHA256.digest(message)
            #expect(table.accepts(signature, ofDigest: digest))
            // ECDSA has two signatures for each: with s and with order - s.
            let twin = Array(signature.prefix(32)) + Self.complement(signature[32...])
            #expect(table.accepts(twin, ofDigest: digest))
            #expect(plain.isES256Signature(twin, of: message[...]))
        }
    }

    @Test func nothingElseIsAccepted() throws {
        let message = Array("message".utf8)
        let signature = try key.es256Signature(of: message)
        let digest = SHA256.digest(message)
        for bit in 0..<512 {
            var other = signature
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!table.accepts(other, ofDigest: digest), "bit \(bit) of the signature")
        }
        for bit in 0..<256 {
            var other = digest
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!table.accepts(signature, ofDigest: other), "bit \(bit) of the digest")
        }
        let foreign = try #require(KeyTable(try SigningKey().verifyingKey()))
        #expect(!foreign.accepts(signature, ofDigest: digest))
        #expect(!table.accepts(Array(signature.dropLast()), ofDigest: digest))
        #expect(!table.accepts(signature + [0], ofDigest: digest))
        #expect(!table.accepts([], ofDigest: digest))
        #expect(!table.accepts(signature, ofDigest: []))
        #expect(!table.accepts(signature, ofDigest: digest + [0]))
    }

    @Test func numbersAtTheEdgesAreJudgedAsOpenSSLJudgesThem() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let one = zero.dropLast() + [1]
        let edges = [
            zero, Array(one), Self.order, Self.complement(one[...]), Array(Self.order.dropLast() + [0x52]),
            [UInt8](repeating: 0xFF, count: 32),
            Self.bytes("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
        ]
        for digest in edges {
            for r in edges {
                for s in edges { #expect(!table.accepts(r + s, ofDigest: digest)) }
            }
        }
        for r in edges {
            for s in edges { #expect(!plain.isES256Signature(r + s, of: [1, 2, 3])) }
        }
        let signature = try key.es256Signature(of: [1])
        // r + order and s + order stand for the same numbers; only the smallest form counts.
        #expect(!table.accepts(Self.order + signature[32...], ofDigest: SHA256.digest([1])))
    }

    /// The x of the point is greater than the order, so r is its rest (Wycheproof, ecdsa_secp256r1_sha256).
    @Test func aPointBeyondTheOrderIsReduced() throws {
        let point = Self.bytes(
            "040ad99500288d466940031d72a9f5445a4d43784640855bf0a69874d2de5fe103c5011e6ef2c42dcd50d5d3d29f99ae6eba2c80c9244f4c5422f0979ff0c3ba5e"
        )
        let algorithm = DER.sequence(
            DER.objectIdentifier([1, 2, 840, 10045, 2, 1]), DER.objectIdentifier([1, 2, 840, 10045, 3, 1, 7]))
        let key = try #require(VerifyingKey(subjectPublicKeyInfo: DER.sequence(algorithm, DER.bits(point))))
        let signature =
            [UInt8](repeating: 0, count: 16) + Self.bytes("4319055358e8617b0c46353d039cdaab")
            + Self.bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63254e")
        let message = Self.bytes("313233343030")
        #expect(key.isES256Signature(signature, of: message[...]))
        #expect(try #require(KeyTable(key)).accepts(signature, ofDigest: SHA256.digest(message)))
    }

    @Test func aKeyThatVerifiesOftenKeepsItsVerdicts() throws {
        let often = try key.verifyingKey()
        often.prepare()
        let message = Array("message".utf8)
        let good = try key.es256Signature(of: message)
        let bad = try SigningKey().es256Signature(of: message)
        for _ in 0..<50 {
            #expect(often.isES256Signature(good, of: message[...]))
            #expect(!often.isES256Signature(bad, of: message[...]))
        }
    }

    @Test func onlyP256HasATable() throws {
        #expect(KeyTable(try SigningKey(generating: .p384).verifyingKey()) == nil)
    }
}
