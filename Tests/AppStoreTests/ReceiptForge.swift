import AppStore
import Entitlements
import Runtime
import TestSupport
import Testing
import Time

/// Makes app receipts, proper and crooked.
struct ReceiptForge {
    static let bundleID = "com.example"
    static let opaque: [UInt8] = Array(0x10...0x1F)
    static let device: [UInt8] = Array(0xA0...0xAF)
    /// When the receipts are made: the leaf of the RSA chain was valid then, and is no more.
    static let made = Timestamp(milliseconds: 1_684_152_000_000)
    static let now = Forge.now

    /// The chain with RSA keys, leaf first, and the leaf's key.
    let chain: [[UInt8]]
    let key: [UInt8]
    let roots: ReceiptRoots

    init() throws {
        let folder = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures/Receipts"
        func pem(_ name: String, _ label: String) throws -> [UInt8] {
            try #require(PEM.decode(try File.text(at: "\(folder)/\(name).pem"), label: label)?.first)
        }
        chain = try ["leaf", "intermediate", "root"].map { try pem($0, "CERTIFICATE") }
        key = try pem("leaf.key", "PRIVATE KEY")
        roots = try ReceiptRoots(file: try File.bytes(at: "\(folder)/root.pem"))
    }

    var verifier: ReceiptVerifier { ReceiptVerifier(roots: roots) }

    func sign(_ content: [UInt8], form: ReceiptBuilder.Form = .init(), chain: [[UInt8]]? = nil) throws -> [UInt8] {
        try ReceiptBuilder.sign(content, certificates: chain ?? self.chain, key: key, form: form)
    }

    func verify(
        _ bytes: [UInt8], expecting: ReceiptVerifier.Expectation = .init(), now: Timestamp = Self.now,
        roots: ReceiptRoots? = nil
    ) throws(ReceiptFailure) -> VerifiedAppReceipt {
        guard case .app(let signed) = try Receipt(bytes, expecting: .app) else {
            throw ReceiptFailure(.xcode, "the test was given another kind of receipt")
        }
        return try ReceiptVerifier(roots: roots ?? self.roots).verify(signed, expecting: expecting, now: now)
    }

    // MARK: Content

    typealias Make = ReceiptBuilder

    static func builder(
        type: String = "ProductionSandbox", made: Timestamp? = Self.made, purchases: [[ReceiptAttribute]] = [purchase()]
    ) -> ReceiptBuilder {
        var builder = ReceiptBuilder()
        builder.attributes = [
            Make.text(0, type), Make.text(2, bundleID), Make.text(3, "1.2.3"),
            ReceiptAttribute(type: 4, version: 2, value: opaque), ReceiptAttribute(type: 5, value: deviceHash),
            Make.date(12, made), Make.date(18, made.map { $0 - .seconds(86_400) }), Make.text(19, "1.0"),
            Make.date(21, nil), ReceiptAttribute(type: 6, value: [1, 2, 3]), ReceiptAttribute(type: 9999, value: []),
        ]
        builder.attributes += purchases.map(Make.purchase)
        return builder
    }

    static func purchase(_ id: String = "2000000123", original: String = "2000000100") -> [ReceiptAttribute] {
        [
            Make.integer(1701, 1), Make.text(1702, "pro.monthly"), Make.text(1703, id), Make.date(1704, made),
            Make.text(1705, original), Make.date(1706, made - .seconds(3600)), Make.integer(1707, 3),
            Make.date(1708, made + .seconds(30 * 86_400)), Make.integer(1711, 1_000_000_000_000_042),
            Make.date(1712, nil), Make.integer(1713, 0), Make.integer(1719, 1), Make.text(1721, ""),
        ]
    }

    /// SHA-1 of device, opaque value and `0C 0B com.example`, computed with sha1sum.
    static let deviceHash: [UInt8] = [
        0x18, 0x50, 0x2D, 0x24, 0xE3, 0xE4, 0x06, 0x76, 0x42, 0x3A, 0x58, 0x4B, 0xF7, 0xC5, 0xC2, 0xC8, 0xBD, 0x1C,
        0x88, 0x63,
    ]
}
