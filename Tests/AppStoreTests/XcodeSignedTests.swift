import AppStore
import Entitlements
import JSON
import Testing
import Time

/// Data of local tests: readable as such, and as nothing else.
@Suite struct XcodeSignedTests {
    let forge: Forge

    init() throws { forge = try Forge() }

    /// Xcode's dates have fractions, and year-1 dates stand for none.
    static let transaction = Forge.transaction([
        "environment": .string("Xcode"), "expiresDate": try? JSONValue.parse(Array("-62135769600000".utf8)),
        "purchaseDate": try? JSONValue.parse(Array("1795448000000.123".utf8)),
    ])

    func found(_ jws: String) -> VerificationFailure? {
        failure { _ = try XcodeSigned<TransactionPayload>(Array(jws.utf8)[...]) }
    }

    @Test("Pitfall 16: Xcode's data, of one certificate, is read as a type of its own")
    func xcodesDataIsReadAsATypeOfItsOwn() throws {
        for environment in ["Xcode", "LocalTesting"] {
            let jws = try Forge.xcode(Forge.transaction(["environment": .string(environment)]))
            let read = try XcodeSigned<TransactionPayload>(Array(jws.utf8)[...])
            #expect(read.environment.rawValue == environment)
            #expect(read.payload.transactionID == "23456")
            #expect(read.certificate.subject.contains("StoreKit Testing in Xcode"))
        }
        let read = try XcodeSigned<TransactionPayload>(Array(try Forge.xcode(Self.transaction).utf8)[...])
        #expect(read.payload.purchaseDate == Timestamp(milliseconds: 1_795_448_000_000))
        #expect(read.payload.expiresDate == Timestamp(milliseconds: -62_135_769_600_000))
        #expect(read.payload.warnings.isEmpty)
    }

    @Test("Invariant 6, pitfall 16: nothing that comes over a network is taken for a local test, nor the reverse")
    func noPathFromTheNetworkTakesIt() throws {
        let local = try Forge.xcode(Self.transaction)
        let whole = try Forge.xcode(Self.transaction, count: 3)
        let envelopes = [
            local, whole, try forge.notification(transaction: local),
            try Forge.xcode(#"{"notificationType":"TEST","data":{"environment":"Xcode","bundleId":"com.example"}}"#),
        ]
        let notifications = try forge.notifications()
        for jws in envelopes {
            let body = SignedBody.body(signedPayload: jws)
            let found = failure { _ = try notifications.verify(body, for: Forge.identity, now: Forge.now) }
            #expect(found != nil)
        }
        // Outer ones do not even pass the door.
        for jws in [local, whole, envelopes[3]] {
            let found = failure { _ = try notifications.intake(SignedBody.body(signedPayload: jws), now: Forge.now) }
            #expect(found?.disposition == .refuse)
        }
        let single = SignedDataVerifier(try forge.verifier())
        for jws in [local, whole] {
            let text = Array(jws.utf8)[...]
            let found = failure {
                _ = try single.observation(
                    transaction: text, app: AppID("demo"), identity: Forge.identity, source: .device, now: Forge.now)
            }
            #expect(found?.disposition == .refuse)
        }
        let hint = failure {
            _ = try forge.verifier().verify(Array(local.utf8)[...], as: TransactionPayload.self, now: Forge.now)
        }
        #expect(hint?.code == .chainLength)
        #expect(hint?.sentence.contains("Xcode") == true)
    }

    @Test func whatIsNoLocalTestIsRefusedAsOne() throws {
        #expect(found("a.b")?.code == .malformed)
        #expect(found("a.b.c")?.code == .malformed)
        #expect(found(try forge.sign(Forge.transaction()))?.code == .chainLength)
        #expect(found(try Forge.xcode(Forge.transaction()))?.code == .wrongEnvironment)
        #expect(found(try Forge.xcode(Forge.renewalInfo(["environment": .string("Xcode")])))?.code == .wrongKind)
        #expect(found(try Forge.xcode("[]"))?.code == .payload)
        let jws = try Forge.xcode(Self.transaction)
        #expect(found(String(jws.dropLast(8)) + "AAAAAAAA")?.code == .signature)
        #expect(found(try forge.sign("{}", header: #"{"alg":"none","x5c":["AA=="]}"#))?.code == .algorithm)
        #expect(found(try forge.sign("{}", header: #"{"alg":"ES256","x5c":["AA=="]}"#))?.code == .certificate)
    }
}
