import AppStore
import Entitlements
import Glibc
import JSON
import TestSupport
import Testing
import Time

/// Reading: what a text is, and what it says.
@Suite struct ReceiptTests {
    let forge: ReceiptForge

    init() throws { forge = try ReceiptForge() }

    func claims(_ builder: ReceiptBuilder) throws -> AppReceipt {
        guard case .app(let signed) = try Receipt(forge.sign(builder.payload)) else {
            throw TestFailure("not an app receipt")
        }
        return signed.claims
    }

    @Test func allDocumentedFieldsAreRead() throws {
        let receipt = try claims(ReceiptForge.builder())
        let made = ReceiptForge.made
        #expect(receipt.receiptType == "ProductionSandbox")
        #expect(receipt.environment == .sandbox)
        #expect(receipt.bundleID == "com.example")
        #expect(receipt.applicationVersion == "1.2.3")
        #expect(receipt.opaqueValue == ReceiptForge.opaque)
        #expect(receipt.deviceHash == ReceiptForge.deviceHash)
        #expect(receipt.creationDate == made)
        #expect(receipt.originalPurchaseDate == made - .seconds(86_400))
        #expect(receipt.originalApplicationVersion == "1.0")
        #expect(receipt.expirationDate == nil)
        #expect(receipt.others == [.init(type: 6, value: [1, 2, 3]), .init(type: 9999, value: [])])
        #expect(receipt.warnings.isEmpty)
        let purchase = try #require(receipt.purchases.first)
        #expect(receipt.purchases.count == 1)
        #expect(purchase.quantity == 1)
        #expect(purchase.productID == "pro.monthly")
        #expect(purchase.transactionID == "2000000123")
        #expect(purchase.purchaseDate == made)
        #expect(purchase.originalTransactionID == "2000000100")
        #expect(purchase.originalPurchaseDate == made - .seconds(3600))
        #expect(purchase.expiresDate == made + .seconds(30 * 86_400))
        #expect(purchase.webOrderLineItemID == 1_000_000_000_000_042)
        #expect(purchase.cancellationDate == nil)
        #expect(purchase.isTrialPeriod == false)
        #expect(purchase.isIntroductoryPeriod == true)
        #expect(purchase.promotionalOfferID == nil)
        #expect(purchase.others == [.init(type: 1707, value: [2, 1, 3])])
    }

    @Test func receiptTypesNameTheirEnvironment() throws {
        let types: [(String, String?)] = [
            ("Production", "production"), ("ProductionVPP", "production"), ("ProductionSandbox", "sandbox"),
            ("ProductionVPPSandbox", "sandbox"), ("Prod", nil), ("production", nil),
        ]
        for (type, environment) in types {
            #expect(try claims(ReceiptForge.builder(type: type)).environment?.rawValue == environment)
        }
    }

    @Test func aFieldThatCannotBeReadCostsThatFieldOnly() throws {
        var builder = ReceiptForge.builder()
        builder.attributes[1] = ReceiptBuilder.integer(2, 5)
        builder.attributes[2] = ReceiptAttribute(type: 3, value: [0x0C, 0x02, 0xFF, 0xFE])
        builder.attributes[5] = ReceiptAttribute(type: 12, value: DER.value(0x16, Array("March 1st".utf8)))
        builder.attributes[7] = ReceiptAttribute(type: 19, value: DER.text("1.0") + [0])
        let receipt = try claims(builder)
        #expect(receipt.bundleID == nil)
        #expect(receipt.applicationVersion == nil)
        #expect(receipt.creationDate == nil)
        #expect(receipt.originalApplicationVersion == nil)
        #expect(receipt.warnings.count == 4)
        #expect(receipt.transactionID == "2000000123")
    }

    @Test func thousandsOfPurchasesAreRead() throws {
        let many = (0..<2300).map { ReceiptForge.purchase("\($0 + 1)") }
        let bytes = try forge.sign(ReceiptForge.builder(purchases: many).payload)
        let ids = try forge.verify(bytes).receipt.purchases.map(\.transactionID)
        check(ids == (1...2300).map { "\($0)" })
    }

    // MARK: The transaction id

    @Test func theFirstPurchaseGivesTheTransactionID() throws {
        let purchases = [ReceiptForge.purchase("7", original: "5"), ReceiptForge.purchase("8", original: "6")]
        #expect(try claims(ReceiptForge.builder(purchases: purchases)).transactionID == "7")
        let original = [[ReceiptBuilder.text(1702, "p")], [ReceiptBuilder.text(1705, "5")]]
        #expect(try claims(ReceiptForge.builder(purchases: original)).transactionID == "5")
        #expect(try claims(ReceiptForge.builder(purchases: [])).transactionID == nil)
        // In base64, with the line breaks that mail and editors put in.
        let text = Base64.encode(try forge.sign(ReceiptForge.builder().payload))
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text.dropFirst($0).prefix(64)) }
        #expect(try Receipt(Array(text.utf8)).transactionID == "2000000123")
        #expect(try Receipt(Array(lines.joined(separator: "\r\n").utf8)).transactionID == "2000000123")
        #expect(try Receipt(Array("\"\(text)\"\n".utf8)).transactionID == "2000000123")
    }

    /// BER with indefinite lengths, the content in pieces, the set wrapped once more, as Xcode writes it.
    func xcodeReceipt(purchases: [[ReceiptAttribute]], type: String = "Xcode") throws -> [UInt8] {
        var form = ReceiptBuilder.Form()
        form.isStreamed = true
        let payload = ReceiptForge.builder(type: type, purchases: purchases).payload
        let bytes = try forge.sign(
            [0x04, 0x82, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload, form: form)
        #expect(bytes.prefix(2) == [0x30, 0x80])
        #expect(Base64.encode(bytes).hasPrefix("MIAG"))
        return bytes
    }

    @Test("Pitfall 22: Xcode's receipts, in BER, give their transaction id, and are a type of their own")
    func xcodesReceiptsAreTold() throws {
        let bytes = try xcodeReceipt(purchases: [ReceiptForge.purchase("0", original: "0")])
        guard case .xcode(let receipt) = try Receipt(bytes) else { throw TestFailure("not told as Xcode's") }
        #expect(receipt.claims.transactionID == "0")
        #expect(receipt.claims.bundleID == "com.example")
        #expect(try Receipt(try xcodeReceipt(purchases: [])).transactionID == nil)
        // The id alone gives it away, too; and a good signature makes nothing better.
        let report = ReceiptReport(
            of: try xcodeReceipt(purchases: [ReceiptForge.purchase("0")], type: "Production"), verifier: forge.verifier,
            now: ReceiptForge.now)
        #expect(report.failure?.code == .xcode)
        #expect(!report.isFine)
        #expect(report.verified == nil)
    }

    @Test func aReceiptInBERFromTheStoreIsVerifiedAllTheSame() throws {
        let bytes = try xcodeReceipt(purchases: [ReceiptForge.purchase()], type: "Production")
        #expect(try forge.verify(bytes).receipt.transactionID == "2000000123")
    }

    @Test func indefiniteLengthsWithinThePayloadAreRead() throws {
        func open(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }
        let id = open(
            0x24, DER.octets(Array(DER.text("42").prefix(1))) + DER.octets(Array(DER.text("42").dropFirst(1))))
        let purchase = open(0x31, open(0x30, DER.integer([0x06, 0xA7]) + DER.integer([1]) + id))
        let payload = open(0x31, open(0x30, DER.integer([17]) + DER.integer([1]) + DER.octets(purchase)))
        #expect(try Receipt(try forge.sign(payload)).transactionID == "42")
        // Not one byte of it may be missing.
        for length in 0..<payload.count {
            #expect(throws: ReceiptFailure.self) { try Receipt(try forge.sign(Array(payload.prefix(length)))) }
        }
    }

    // MARK: The style of iOS 6

    static func transactionReceipt(_ info: String = info) -> String {
        """
        {
        \t"signature" = "AluGxOuMy+rqQnlJg9C+yYGUIc6A";
        \t"purchase-info" = "\(Base64.encode(Array(info.utf8)))";
        \t"environment" = "Sandbox";
        \t"pod" = "100";
        \t"signing-status" = "0";
        }
        """
    }

    static let info = """
        {
        \t"original-purchase-date-pst" = "2012-04-30 08:05:55 America/Los_Angeles";
        \t"original-transaction-id" = "1000000046178817";
        \t"transaction-id" = "33993399";
        \t"quantity" = "1";
        \t"product-id" = "com.mindmobapp.download";
        \t"bid" = "com.mindmobapp.MindMob";
        \t"purchase-date-ms" = "1335798355868";
        }
        """

    @Test func anOldTransactionReceiptGivesItsTransactionID() throws {
        let text = Self.transactionReceipt()
        for input in [Base64.encode(Array(text.utf8)), text] {
            guard case .transaction(let receipt) = try Receipt(Array(input.utf8)) else {
                throw TestFailure("not told as a transaction's")
            }
            #expect(receipt.transactionID == "33993399")
            #expect(receipt.originalTransactionID == "1000000046178817")
            #expect(receipt.productID == "com.mindmobapp.download")
            #expect(receipt.bundleID == "com.mindmobapp.MindMob")
            #expect(receipt.environment == "Sandbox")
            #expect(receipt.purchaseDate == Timestamp(milliseconds: 1_335_798_355_868))
            #expect(receipt.fields.count == 7)
        }
        let report = ReceiptReport(of: Array(text.utf8), verifier: forge.verifier, now: ReceiptForge.now)
        #expect(report.failure?.code == .unverifiable)
        #expect(report.text.contains("33993399"))
    }

    // MARK: What people send instead

    static func code(_ input: [UInt8], expecting kind: Receipt.Kind? = nil) -> ReceiptFailure.Code? {
        do { _ = try Receipt(input, expecting: kind) } catch { return error.code }
        return nil
    }

    static func code(_ text: String, expecting kind: Receipt.Kind? = nil) -> ReceiptFailure.Code? {
        code(Array(text.utf8), expecting: kind)
    }

    @Test("Pitfall 22: each wrong input is named, with what to do instead")
    func wrongInputsAreNamed() throws {
        let receipt = try forge.sign(ReceiptForge.builder().payload)
        let text = Base64.encode(receipt)
        let transaction = Base64.encode(Array(Self.transactionReceipt().utf8))
        let jws = try Forge().sign(Forge.transaction())
        let inputs: [(String, ReceiptFailure.Code, says: String)] = [
            ("", .empty, "empty"), (" \n\t", .empty, "empty"), ("\"\"", .empty, "empty"),
            (Base64.encode(Array(text.utf8)), .doublyEncoded, "twice"),
            (Base64.encode(Array(transaction.utf8)), .doublyEncoded, "twice"),
            (jws, .jws, "the JWS of a transaction, not a receipt"), ("eyJhbGciOiJFUzI1NiJ9.e30.AA", .jws, "verify"),
            (Base64.encode(Array(jws.utf8)), .jws, "holdfast verify"),
            ("{\"signedPayload\":\"\(jws)\"}", .json, "notification"),
            ("{\"receipt-data\":\"\(text)\",\"password\":\"x\"}", .json, "receipt-data"), ("{}", .json, "JSON"),
            ("{ \"signature\" = \"x\"; }", .notAReceipt, "purchase-info"),
            (
                Self.transactionReceipt().replacing("purchase-info\" = \"", with: "purchase-info\" = \"*"), .malformed,
                "purchase-info"
            ),
            (String(text.dropLast()), .notBase64, "cut off"), (text.replacing("A", with: "%2B"), .notBase64, "URL"),
            (text.replacing("A", with: "-"), .notBase64, "base64url"),
            (text.replacing("A", with: " "), .notBase64, "blanks"),
            ("MII*%", .notBase64, "base64: it has characters that base64 has not"),
            ("MII*-_ ", .notBase64, "base64: it has characters that base64 has not"),
            ("MII*", .notBase64, "characters"), ("MIIü", .notBase64, "characters"),
            ("-----BEGIN PKCS7-----\n\(text)\n-----END PKCS7-----", .notBase64, "PEM"),
            ("SGVsbG8sIHdvcmxkIQ==", .notAReceipt, "not of a receipt"),
            (Base64.encode(Array(receipt.dropLast(3))), .truncated, "cut off"),
            (Base64.encode(Array(receipt.prefix(3))), .truncated, "cut off"), ("MA==", .notAReceipt, "begins with"),
            (Base64.encode(Array(try xcodeReceipt(purchases: []).dropLast(2))), .truncated, "cut off"),
            (Base64.encode(receipt + [0]), .malformed, "after its end"),
            (Base64.encode(DER.sequence(DER.integer([1]))), .malformed, "CMS"),
        ]
        for (input, code, says) in inputs {
            let error = #expect(throws: ReceiptFailure.self) { try Receipt(Array(input.utf8)) }
            #expect(error?.code == code, "\(input.prefix(60)): \(String(describing: error))")
            #expect(error?.sentence.contains(says) == true, "\(input.prefix(60)): \(String(describing: error))")
        }
        #expect(Self.code([UInt8](repeating: UInt8(ascii: "A"), count: 6 << 20)) == .tooLarge)
    }

    @Test("Pitfall 22: an app receipt and a transaction's are told apart where one of them is wanted")
    func theOtherKindIsNamed() throws {
        let app = Base64.encode(try forge.sign(ReceiptForge.builder().payload))
        let transaction = Base64.encode(Array(Self.transactionReceipt().utf8))
        #expect(Self.code(app, expecting: .app) == nil)
        #expect(Self.code(transaction, expecting: .transaction) == nil)
        #expect(Self.code(transaction, expecting: .app) == .transactionReceipt)
        #expect(Self.code(app, expecting: .transaction) == .appReceipt)
    }

    @Test func otherCMSMessagesAreNamed() throws {
        func message(_ type: UInt64) -> [UInt8] {
            DER.sequence(
                DER.objectIdentifier([1, 2, 840, 113549, 1, 7, type]),
                DER.value(0xA0, type == 1 ? DER.octets([1]) : DER.sequence(DER.integer([0]))))
        }
        #expect(Self.code(message(1)) == .wrongContainer)
        #expect(Self.code(message(3)) == .malformed)
        // Signed data with something else in it.
        #expect(Self.code(try forge.sign(DER.sequence(DER.integer([1])))) == .malformed)
        #expect(Self.code(try forge.sign([])) == .malformed)
        #expect(Self.code(try forge.sign(DER.set(DER.integer([1])))) == .malformed)
    }

    @Test func deepNestingNeitherCrashesNorPasses() throws {
        let deep = [UInt8](repeating: 0, count: 200_000).indices.map { UInt8($0 % 2 == 0 ? 0x30 : 0x80) }
        #expect(Self.code(deep) != nil)
        #expect(Self.code(try forge.sign(deep)) == .malformed)
        let octets = deep.map { $0 == 0x30 ? 0x24 : $0 }
        #expect(Self.code(try forge.sign(octets)) == .malformed)
    }

    @Test func whatIsCutOffAnywhereIsRefused() throws {
        let bytes = try forge.sign(ReceiptForge.builder().payload)
        for length in stride(from: 2, to: bytes.count, by: 7) {
            #expect(Self.code(Array(bytes.prefix(length))) == .truncated)
        }
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
