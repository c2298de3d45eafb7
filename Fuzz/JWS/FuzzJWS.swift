import AppStore
import JSON
import Time

/// What libFuzzer calls: nothing crashes, nothing passes without a signature, and each text has one reading.
///
/// The first byte of the input chooses what the rest is: a body, the header of a JWS, a payload that was signed, a
/// certificate, base64 or PEM.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJWS(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] & 7 {
    case 0, 1: checkBody(input)
    case 2: checkBody(Array(jws(header: input).utf8))
    case 3: checkPayload(input)
    case 4: _ = try? TrustedRoots(file: input)
    case 5: checkBase64(input)
    case 6: _ = PEM.decode(String(decoding: input, as: UTF8.self), label: "CERTIFICATE")
    default: checkBody(Array(jws(header: certificateHeader(input)).utf8))
    }
    return 0
}

private let now = Timestamp(milliseconds: 1_795_448_000_000)
private let verifier = JWSVerifier()

private func jws(header: [UInt8]) -> String {
    "\(Base64URL.encode(header)).e30.\(Base64URL.encode([UInt8](repeating: 1, count: 64)))"
}

private func certificateHeader(_ certificate: [UInt8]) -> [UInt8] {
    SignedJWS.header(x5c: [certificate, certificate, certificate])
}

private func checkBody(_ body: [UInt8]) {
    let notifications = NotificationVerifier(verifier)
    precondition((try? notifications.intake(body, now: now)) == nil, "something passed without a signature")
    let report = VerificationReport(of: body, verifier: verifier, now: now)
    precondition(!report.isFine && !report.text.isEmpty)
    guard (try? JSONValue.parse(Array(report.json.utf8))) != nil else { preconditionFailure("the report is no JSON") }
    // The fast way of reading a body and the general one agree.
    if let text = (try? JSONValue.parse(body, maximumDepth: 16))?["signedPayload"]?.string {
        guard let fast = try? SignedBody.signedPayload(of: body) else { preconditionFailure("JSON, but not for us") }
        precondition(fast.elementsEqual(text.utf8), "two readings of one body")
    }
}

private func checkPayload(_ json: [UInt8]) {
    let kind = PayloadKind(ofJSON: json)
    let isObject = (try? JSONValue.parse(json))?.object != nil
    precondition(isObject || kind == nil)
    precondition(isObject == ((try? NotificationPayload(json: json)) != nil))
    precondition(isObject == ((try? TransactionPayload(json: json)) != nil))
    precondition(isObject == ((try? RenewalInfoPayload(json: json)) != nil))
    precondition(isObject == ((try? AppTransactionPayload(json: json)) != nil))
    precondition(isObject == ((try? RealtimeRequestPayload(json: json)) != nil))
}

private func checkBase64(_ text: [UInt8]) {
    // Strict: whoever decodes it and encodes it again has the same text.
    if let bytes = Base64URL.decode(text[...]) { precondition(Base64URL.encodeBytes(bytes) == text) }
    let string = String(decoding: text, as: UTF8.self)
    if let bytes = Base64.decode(string) { precondition(Base64.encode(bytes) == string) }
}
