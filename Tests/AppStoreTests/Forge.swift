import AppStore
import Entitlements
import Glibc
import JSON
import Testing
import Time

/// Makes signed data, proper and crooked.
struct Forge {
    /// 2026-11-23T15:33:20Z.
    static let now = Timestamp(milliseconds: 1_795_448_000_000)
    static let identity = AppIdentity(bundleID: "com.example", appAppleID: 41234)

    let authority: CertificateAuthority

    init() throws { authority = try CertificateAuthority(makingAt: Self.now) }

    /// A verifier that trusts this forge's root.
    func verifier(_ change: (inout VerificationLimits) -> Void = { _ in }) throws -> JWSVerifier {
        var limits = VerificationLimits()
        change(&limits)
        return JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER]), limits: limits)
    }

    func notifications() throws -> NotificationVerifier { NotificationVerifier(try verifier()) }

    /// Signs with other certificates in the header, and with another key, than would be proper.
    func sign(_ payload: String, x5c: [[UInt8]]? = nil, key: SigningKey? = nil) throws -> String {
        try SignedJWS.make(
            header: SignedJWS.header(x5c: x5c ?? authority.chain), payload: Array(payload.utf8),
            key: key ?? authority.leaf.key)
    }

    /// Signs under a header of the caller's.
    func sign(_ payload: String, header: String) throws -> String {
        try SignedJWS.make(header: Array(header.utf8), payload: Array(payload.utf8), key: authority.leaf.key)
    }

    // MARK: Payloads

    static func json(_ members: [String: JSONValue], _ changes: [String: JSONValue?] = [:]) -> String {
        var object = JSONObject()
        for (key, value) in members.merging(changes.compactMapValues { $0 }, uniquingKeysWith: { $1 }).sorted(by: {
            $0.key < $1.key
        }) where !changes.contains(where: { $0.key == key && $0.value == nil }) {
            object[key] = value
        }
        var writer = JSONWriter()
        writer.value(.object(object))
        return writer.text
    }

    static func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    static func date(_ instant: Timestamp) -> JSONValue { number(instant.milliseconds) }

    static func transaction(_ changes: [String: JSONValue?] = [:]) -> String {
        json(
            [
                "transactionId": .string("23456"), "originalTransactionId": .string("12345"),
                "bundleId": .string("com.example"), "productId": .string("com.example.product"),
                "purchaseDate": date(now), "expiresDate": date(now + .seconds(86_400)), "signedDate": date(now),
                "environment": .string("Production"), "type": .string("Auto-Renewable Subscription"),
            ], changes)
    }

    static func renewalInfo(_ changes: [String: JSONValue?] = [:]) -> String {
        json(
            [
                "originalTransactionId": .string("12345"), "autoRenewProductId": .string("com.example.product"),
                "productId": .string("com.example.product"), "autoRenewStatus": number(1), "signedDate": date(now),
                "environment": .string("Production"),
            ], changes)
    }

    static func appTransaction(_ changes: [String: JSONValue?] = [:]) -> String {
        json(
            [
                "receiptType": .string("Production"), "appAppleId": number(41234), "bundleId": .string("com.example"),
                "receiptCreationDate": date(now), "appTransactionId": .string("71134"),
            ], changes)
    }

    static func realtimeRequest(_ changes: [String: JSONValue?] = [:]) -> String {
        json(
            [
                "originalTransactionId": .string("12345"), "appAppleId": number(41234),
                "productId": .string("com.example.product"), "userLocale": .string("en-US"),
                "requestIdentifier": .string("3db5c98d-8acf-4e29-831e-8e1f82f9f6e9"),
                "environment": .string("Production"), "signedDate": date(now),
            ], changes)
    }

    /// Signs as Xcode does: one certificate, which signed itself.
    static func xcode(_ payload: String, count: Int = 1) throws -> String {
        let key = try SigningKey()
        let name = CertificateTemplate.Name(commonName: "StoreKit Testing in Xcode", unit: "Tests")
        let certificate = try CertificateTemplate(
            subject: name, issuer: name, notBefore: now - .seconds(60), notAfter: now + .seconds(86_400),
            subjectPublicKeyInfo: try key.subjectPublicKeyInfo(), extensions: [.basicConstraints(isAuthority: true)]
        ).signed(by: key)
        return try SignedJWS.make(
            header: SignedJWS.header(x5c: Array(repeating: certificate, count: count)), payload: Array(payload.utf8),
            key: key)
    }

    /// A notification about an app, whose nested app transaction is changed by `inner`.
    func appNotification(_ inner: [String: JSONValue?] = [:]) throws -> String {
        var object = JSONObject()
        object["environment"] = .string("Production")
        object["appAppleId"] = Self.number(41234)
        object["bundleId"] = .string("com.example")
        object["signedAppTransactionInfo"] = .string(try sign(Self.appTransaction(inner)))
        return try notification([
            "data": nil, "subtype": nil, "notificationType": .string("RESCIND_CONSENT"), "appData": .object(object),
        ])
    }

    /// A SUBSCRIBED notification; `data` and `changes` replace members (nil removes one).
    func notification(
        transaction: String? = nil, renewalInfo: String? = nil, data: [String: JSONValue?] = [:],
        _ changes: [String: JSONValue?] = [:]
    ) throws -> String {
        var object = JSONObject()
        object["environment"] = .string("Production")
        object["appAppleId"] = Self.number(41234)
        object["bundleId"] = .string("com.example")
        object["status"] = Self.number(1)
        object["signedTransactionInfo"] = .string(try transaction ?? sign(Self.transaction()))
        object["signedRenewalInfo"] = .string(try renewalInfo ?? sign(Self.renewalInfo()))
        for (key, value) in data { object[key] = value }
        return try sign(
            Self.json(
                [
                    "notificationType": .string("SUBSCRIBED"), "subtype": .string("INITIAL_BUY"),
                    "notificationUUID": .string("002e14d5-51f5-4503-b5a8-c3a1af68eb20"), "version": .string("2.0"),
                    "signedDate": Self.date(Self.now), "data": .object(object),
                ], changes))
    }
}

/// The code of the failure that `body` throws; nil when it throws none.
func failure(_ body: () throws -> Void) -> VerificationFailure? {
    do {
        try body()
        return nil
    } catch { return error as? VerificationFailure }
}

/// The content of a file beside the tests.
func fixture(_ name: String) throws -> [UInt8] {
    let folder = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    let file = try #require(fopen("\(folder)/Fixtures/\(name)", "r"), "no fixture \(name)")
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        if count == 0 { return bytes }
        bytes += buffer.prefix(count)
    }
}

func certificate(_ name: String) throws -> [UInt8] {
    let text = String(decoding: try fixture("AppleChain/\(name).pem"), as: UTF8.self)
    return try #require(PEM.decode(text, label: "CERTIFICATE")?.first)
}
