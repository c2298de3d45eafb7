import AppStore
import Entitlements
import JSON
import TestSupport
import Testing
import Time

/// Every kind in the place of every other.
@Suite struct PayloadKindTests {
    let forge: Forge

    init() throws { forge = try Forge() }

    func jws(_ kind: PayloadKind) throws -> String {
        switch kind {
        case .notification: try forge.notification()
        case .transaction: try forge.sign(Forge.transaction())
        case .renewalInfo: try forge.sign(Forge.renewalInfo())
        case .appTransaction: try forge.sign(Forge.appTransaction())
        case .realtimeRequest: try forge.sign(Forge.realtimeRequest())
        }
    }

    func found(_ jws: String, where expected: PayloadKind) throws -> VerificationFailure? {
        let verifier = SignedDataVerifier(try forge.verifier())
        let text = Array(jws.utf8)[...]
        let identity = Forge.identity
        return failure {
            switch expected {
            case .notification:
                _ = try verifier.verify(text, as: NotificationPayload.self, for: identity, now: Forge.now)
            case .transaction: _ = try verifier.verify(text, as: TransactionPayload.self, for: identity, now: Forge.now)
            case .renewalInfo: _ = try verifier.verify(text, as: RenewalInfoPayload.self, for: identity, now: Forge.now)
            case .appTransaction:
                _ = try verifier.verify(text, as: AppTransactionPayload.self, for: identity, now: Forge.now)
            case .realtimeRequest:
                _ = try verifier.verify(text, as: RealtimeRequestPayload.self, for: identity, now: Forge.now)
            }
        }
    }

    @Test(
        "Pitfall 15: a payload of another kind is told by its name, for every pair of kinds",
        arguments: PayloadKind.allCases, PayloadKind.allCases)
    func everyPairOfKinds(expected: PayloadKind, actual: PayloadKind) throws {
        let found = try found(try jws(actual), where: expected)
        guard expected != actual else {
            #expect(found == nil)
            return
        }
        #expect(found?.code == .wrongKind)
        #expect(found?.part.rawValue == expected.rawValue)
        #expect(found?.sentence == "expected \(expected.phrase), but this is \(actual.phrase)")
        #expect(found?.isRetryable == false)
    }

    @Test("Pitfall 14: an app transaction's environment is its receiptType; a transaction in its place is called one")
    func anAppTransactionNamesItsEnvironmentOtherwise() throws {
        let verifier = SignedDataVerifier(try forge.verifier())
        let accepted = try verifier.verify(
            Array(try jws(.appTransaction).utf8)[...], as: AppTransactionPayload.self, for: Forge.identity,
            now: Forge.now)
        #expect(accepted.environment == .production)
        #expect(try found(try jws(.transaction), where: .appTransaction)?.code == .wrongKind)
        let sandbox = try forge.sign(Forge.appTransaction(["receiptType": .string("Sandbox"), "appAppleId": nil]))
        #expect(try found(sandbox, where: .appTransaction) == nil)
        let xcode = try forge.sign(Forge.appTransaction(["receiptType": .string("Xcode")]))
        #expect(try found(xcode, where: .appTransaction)?.code == .wrongEnvironment)
    }

    @Test func whatIsOfNoKindAndWhatIsDamagedWhereItsKindIsToldAreToldApart() throws {
        let none = try found(try forge.sign(#"{"a":1}"#), where: .transaction)
        #expect(none?.code == .wrongKind)
        #expect(none?.sentence == "expected a transaction, but this is of an unknown kind")
        let damaged = try found(
            try forge.sign(Forge.transaction(["transactionId": Forge.number(7)])), where: .transaction)
        #expect(damaged?.code == .payload)
        #expect(damaged?.sentence == "transactionId is not a text")
    }
}
