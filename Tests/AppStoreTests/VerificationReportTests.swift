import AppStore
import Entitlements
import JSON
import TestSupport
import Testing
import Time

@Suite struct VerificationReportTests {
    let forge: Forge

    init() throws { forge = try Forge() }

    func report(
        _ text: String, expecting: VerificationReport.Expectation = .init(), verifier: JWSVerifier? = nil
    ) throws -> VerificationReport {
        VerificationReport(
            of: Array(text.utf8), verifier: try verifier ?? forge.verifier(), expecting: expecting, now: Forge.now)
    }

    @Test func aGoodNotificationIsFineInAllItsParts() throws {
        let jws = try forge.notification()
        for text in [jws, "\n \(jws)\n", "{\"signedPayload\":\"\(jws)\"}\n"] {
            let report = try report(text)
            #expect(report.isFine)
            #expect(report.parts.map(\.kind) == [.notification, .transaction, .renewalInfo])
            #expect(report.parts.map(\.place) == [nil, "data.signedTransactionInfo", "data.signedRenewalInfo"])
            #expect(report.text.contains("not Apple's"))
        }
    }

    @Test func applesTestNotificationIsFineUnderItsOwnRootOnly() throws {
        let text = String(decoding: try fixture("testNotification"), as: UTF8.self)
        let roots = try TrustedRoots(file: try fixture("testCA.der"))
        #expect(try report(text, verifier: JWSVerifier(roots: roots)).isFine)
        let refused = try report(text, verifier: JWSVerifier())
        #expect(refused.parts[0].problems.map(\.code) == [.notTrusted])
        #expect(refused.parts[0].certificates.count == 3)
        #expect(refused.text.contains("nobody vouches"))
    }

    @Test func eachPartSaysWhatIsWrongWithIt() throws {
        let other = try Forge()
        let jws = try forge.notification(
            transaction: try other.sign(Forge.transaction()),
            renewalInfo: try forge.sign(Forge.renewalInfo(["environment": .string("Sandbox")])))
        let report = try report(jws)
        #expect(!report.isFine)
        #expect(report.parts[1].problems.map(\.code) == [.notTrusted])
        let disagreeing = try self.report(
            try forge.notification(renewalInfo: try forge.sign(Forge.renewalInfo(["environment": .string("Sandbox")]))))
        #expect(disagreeing.parts[2].problems.map(\.code) == [.disagreement])
    }

    @Test func whatIsExpectedIsChecked() throws {
        let notification = try forge.notification()
        let transaction = try forge.sign(Forge.transaction())
        for text in [notification, transaction] {
            #expect(try report(text, expecting: .init(bundleID: "com.example", environment: .production)).isFine)
            let app = try report(text, expecting: .init(bundleID: "com.other"))
            #expect(app.parts[0].problems.map(\.code) == [.wrongApp])
            let environment = try report(text, expecting: .init(environment: .sandbox))
            #expect(environment.parts[0].problems.map(\.code) == [.wrongEnvironment])
        }
        #expect(try report(notification, expecting: .init(appAppleID: 7)).parts[0].problems.map(\.code) == [.wrongApp])
    }

    @Test func everyKindIsNamed() throws {
        let app = #"{"receiptType":"Sandbox","bundleId":"com.example","receiptCreationDate":1795448000000}"#
        let realtime = """
            {"requestIdentifier":"3db5c98d-8acf-4e29-831e-8e1f82f9f6e9","userLocale":"en","environment":"Sandbox"}
            """
        for (payload, kind) in [
            (app, PayloadKind.appTransaction), (realtime, .realtimeRequest), (Forge.renewalInfo(), .renewalInfo),
        ] {
            let report = try report(try forge.sign(payload))
            #expect(report.isFine, "\(report.text)")
            #expect(report.parts.first?.kind == kind)
        }
        #expect(try report(try forge.sign("{}")).parts[0].problems.map(\.code) == [.wrongKind])
    }

    @Test(arguments: ["", " ", "x", "{", "{}", "[]", "a.b.c", #"{"signedPayload":"a.b.c"}"#])
    func anythingElseIsReportedAsMalformed(text: String) throws {
        let report = try report(text)
        #expect(!report.isFine)
        #expect(report.parts.first?.problems.first?.code == .malformed)
    }

    @Test func theJSONFormIsJSON() throws {
        let value = try JSONValue.parse(Array(try report(try forge.notification()).json.utf8))
        #expect(value["fine"]?.bool == true)
        #expect(value["parts"]?.array?.count == 3)
        #expect(value["parts"]?.array?.first?["kind"]?.string == "notification")
    }

    @Test func foreignTextCannotDriveATerminal() throws {
        let payload = Forge.transaction(["productId": .string("a\u{1B}[2J\u{9B}b")])
        let text = try report(try forge.sign(payload)).text
        check(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x9B })
    }
}
