import AppStore
import Entitlements
import JSON
import Testing
import Time

/// What comes by itself: from a device, or in an answer of the Server API.
@Suite struct SignedDataVerifierTests {
    let forge: Forge
    let app = AppID("demo")
    let now = Forge.now

    init() throws { forge = try Forge() }

    func observation(
        _ transaction: String, _ renewalInfo: String? = nil, status: Int64? = nil,
        as identity: AppIdentity = Forge.identity
    ) throws -> Observation {
        try SignedDataVerifier(try forge.verifier()).observation(
            transaction: Array(transaction.utf8)[...], renewalInfo: renewalInfo.map { Array($0.utf8)[...] },
            status: status, app: app, identity: identity, source: .status, now: now)
    }

    func found(_ transaction: String, _ renewalInfo: String? = nil) -> VerificationFailure? {
        failure { _ = try observation(transaction, renewalInfo) }
    }

    @Test func aTransactionBecomesAnObservation() throws {
        let later = Forge.date(now + .seconds(60))
        let whole = try observation(
            try forge.sign(Forge.transaction()), try forge.sign(Forge.renewalInfo(["signedDate": later])), status: 3)
        #expect(whole.lineage == LineageID(app: app, environment: .production, originalTransactionID: "12345"))
        #expect(whole.source == .status)
        #expect(whole.signedDate == now + .seconds(60))
        #expect(whole.renewal?.autoRenewStatus == 1)
        #expect(whole.status == StatusFact(status: 3, signedDate: now + .seconds(60)))
        let alone = try observation(try forge.sign(Forge.transaction()))
        #expect(alone.signedDate == now)
        #expect(alone.renewal == nil)
        #expect(alone.status == nil)
    }

    @Test("Invariant 6: what is not this app's, not Apple's or damaged is no observation")
    func whatIsNotThisAppsIsNoObservation() throws {
        #expect(found(try forge.sign(Forge.transaction(["bundleId": .string("com.other")])))?.code == .wrongApp)
        #expect(found(try forge.sign(Forge.transaction(["environment": .string("Xcode")])))?.code == .wrongEnvironment)
        #expect(found(try forge.sign(Forge.transaction(["environment": nil])))?.code == .wrongEnvironment)
        #expect(found(try forge.sign(Forge.transaction(["expiresDate": .string("x")])))?.code == .payload)
        #expect(found(try Forge().sign(Forge.transaction()))?.code == .notTrusted)
        #expect(found(try forge.sign(Forge.renewalInfo()))?.code == .wrongKind)
        let only = SignedDataVerifier(try forge.verifier())
        let text = Array(try forge.sign(Forge.transaction()).utf8)[...]
        let wrong = failure {
            _ = try only.verify(
                text, as: TransactionPayload.self, for: Forge.identity, now: now, environments: [.sandbox])
        }
        #expect(wrong?.code == .wrongEnvironment)
    }

    @Test func renewalInformationMustBeAboutTheSameSubscription() throws {
        let transaction = try forge.sign(Forge.transaction())
        let other = try forge.sign(Forge.renewalInfo(["originalTransactionId": .string("999")]))
        #expect(found(transaction, other)?.code == .disagreement)
        let sandbox = try forge.sign(Forge.renewalInfo(["environment": .string("Sandbox")]))
        #expect(found(transaction, sandbox)?.code == .disagreement)
    }

    @Test func anAppTransactionIsHeldAgainstTheApp() throws {
        let single = SignedDataVerifier(try forge.verifier())
        func found(_ change: [String: JSONValue?]) throws -> VerificationFailure.Code? {
            let text = Array(try forge.sign(Forge.appTransaction(change)).utf8)[...]
            return failure {
                _ = try single.verify(text, as: AppTransactionPayload.self, for: Forge.identity, now: now)
            }?.code
        }
        #expect(try found([:]) == nil)
        #expect(try found(["bundleId": .string("com.other")]) == .wrongApp)
        #expect(try found(["appAppleId": Forge.number(1)]) == .wrongApp)
        #expect(try found(["appAppleId": nil]) == .wrongApp)
        #expect(try found(["receiptCreationDate": nil]) == .payload)
        #expect(try found(["receiptType": .string("Sandbox"), "appAppleId": nil]) == nil)
    }
}
