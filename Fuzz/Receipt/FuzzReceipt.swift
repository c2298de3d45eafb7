import AppStore
import JSON
import Runtime
import Time

/// What libFuzzer calls: nothing crashes, and nothing is verified that says other things than the seeds, which are signed
/// under the tests' own root.
///
/// The first byte of the input chooses what the rest is: a receipt's text or bytes, the set of attributes in one, the inside
/// of an old transaction receipt, or a request to sign an offer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReceipt(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] & 7 {
    case 0, 1: check(input)
    case 2: check(Array(Base64.encode(input).utf8), sameAs: input)
    case 3, 4: check(container(of: input))
    case 5:
        check(Array("{\n\t\"purchase-info\" = \"\(Base64.encode(input))\";\n\t\"environment\" = \"Sandbox\";\n}".utf8))
    case 6: checkOffer(input)
    default: check(container(of: [0x24, 0x80] + input + [0, 0]))
    }
    return 0
}

private let now = Timestamp(milliseconds: 1_795_448_000_000)
private let verifier: ReceiptVerifier = {
    // ops/fuzz runs in the package's folder.
    guard let file = try? File.bytes(at: "Tests/AppStoreTests/Fixtures/Receipts/root.pem"),
        let roots = try? ReceiptRoots(file: file)
    else { preconditionFailure("the tests' root cannot be read") }
    return ReceiptVerifier(roots: roots.adding(.apple))
}()

/// A message of signed data around `content`, signed by nobody.
private func container(of content: [UInt8]) -> [UInt8] {
    guard content.count < 0xFF00 else { return [] }
    func identifier(_ last: UInt64) -> [UInt8] { DER.objectIdentifier([1, 2, 840, 113549, 1, 7, last]) }
    let data = DER.sequence(identifier(1), DER.value(0xA0, DER.octets(content)))
    return DER.sequence(
        identifier(2), DER.value(0xA0, DER.sequence(DER.integer([1]), DER.set(), data, DER.set())))
}

private func check(_ input: [UInt8], sameAs bytes: [UInt8]? = nil) {
    let report = ReceiptReport(of: input, verifier: verifier, now: now)
    precondition(report.isFine == (report.verified != nil) && report.isFine == (report.failure == nil))
    precondition(!report.text.isEmpty)
    guard (try? JSONValue.parse(Array(report.json.utf8))) != nil else { preconditionFailure("the report is no JSON") }
    if let verified = report.verified {
        precondition(
            verified.receipt.transactionID == "2000000123" && verified.receipt.bundleID == "com.example"
                && verified.receipt.purchases.count == 1 && verified.receipt.warnings.isEmpty,
            "something passed that was not signed")
    }
    let app = try? Receipt(input, expecting: .app)
    let transaction = try? Receipt(input, expecting: .transaction)
    precondition((app != nil || transaction != nil) == (report.receipt != nil) && (app == nil || transaction == nil))
    // In base64 or not, it is one receipt. (Bytes that are text are read as such.)
    if let bytes, bytes.first == 0x30, bytes.prefix(16).contains(where: { $0 < 9 || $0 >= 0x7F }) {
        let plain = ReceiptReport(of: bytes, verifier: verifier, now: now)
        precondition(plain.json == report.json, "two readings of one receipt")
    }
}

private func checkOffer(_ input: [UInt8]) {
    guard let value = try? JSONValue.parse(input), let request = try? OfferRequest(value) else { return }
    guard case .advancedCommerce(let commerce) = request else { return }
    // What is sent passes the same check, unchanged.
    guard let sent = try? JSONValue.parse(commerce.json), let again = try? AdvancedCommerceRequest(sent) else {
        preconditionFailure("what is signed breaks the rules it was checked against")
    }
    precondition(again == commerce && sent["version"]?.string == "1")
}
