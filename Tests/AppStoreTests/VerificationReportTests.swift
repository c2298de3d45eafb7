import AppStore
import Entitlements
import JSON
import Runtime
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
            {"requestIdentifier":"3db5c98d-8acf-4e29-831e-8e1f82f9f6e9","userLocale":"en","environment":"Sandbox",\
            "originalTransactionId":"1","appAppleId":41234,"productId":"p","signedDate":1795448000000}
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

    @Test(arguments: [
        ("{}", VerificationFailure.Code.wrongKind, "is of no known kind"), ("[1]", .wrongKind, "is no JSON object"),
        ("hello", .payload, "is not JSON: "), (#"{"transactionId":"1""#, .payload, "is not JSON: "),
        ("\u{0}", .payload, "is not JSON: "),
    ])
    func aWellSignedPayloadThatIsNoneSaysWhy(
        _ payload: String, _ code: VerificationFailure.Code, _ said: String
    ) throws {
        let problem = try #require(try report(try forge.sign(payload)).parts[0].problems.first)
        #expect(problem.code == code)
        check(problem.sentence.hasPrefix("the signature is good, but the payload \(said)"), problem.sentence)
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
        for evil in ["\u{202E}", "\u{2066}", "\u{85}", "\u{7F}", "\u{2028}", "\u{200F}", "\u{FEFF}", "\r\n"] {
            let payloads = [
                Forge.transaction(["productId": .string(evil), evil: .string(evil), "environment": .string(evil)]),
                Forge.transaction([evil + "x": Forge.number(1)]), Forge.json(["other": .string(evil)]),
                Forge.renewalInfo(["originalTransactionId": .string("1" + evil)]),
            ]
            for payload in payloads {
                let text = try report(try forge.sign(payload), expecting: .init(bundleID: "b" + evil)).text
                check(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.isPrintable }, text.debugDescription)
            }
        }
    }

    @Test func allMistakesOfAPartAreReported() throws {
        let report = try report(
            try forge.notification(),
            expecting: .init(bundleID: "com.other", appAppleID: 7, environment: .sandbox))
        #expect(report.parts[0].problems.map(\.code) == [.wrongApp, .wrongApp, .wrongEnvironment])
        // What was asked for holds for nested parts too; renewal information names no app.
        #expect(report.parts[1].problems.map(\.code) == [.wrongApp, .wrongEnvironment])
        #expect(report.parts[2].problems.map(\.code) == [.wrongEnvironment])
        let damaged = try self.report(
            try forge.sign(
                Forge.transaction(["expiresDate": .string("x"), "isUpgraded": .string("x"), "productId": nil])))
        #expect(
            damaged.parts[0].problems.map(\.sentence).sorted() == [
                "expiresDate is not a number", "isUpgraded is neither true nor false", "productId is missing",
            ])
    }

    @Test func allDisagreementsAreReported() throws {
        let transaction = try forge.sign(
            Forge.transaction(["bundleId": .string("com.other"), "environment": .string("Sandbox")]))
        let renewal = try forge.sign(
            Forge.renewalInfo(["originalTransactionId": .string("9"), "environment": .string("Sandbox")]))
        let report = try report(try forge.notification(transaction: transaction, renewalInfo: renewal))
        #expect(report.parts[0].problems.isEmpty)
        #expect(report.parts[1].problems.map(\.code) == [.disagreement, .disagreement])
        #expect(report.parts[2].problems.map(\.code) == [.disagreement, .disagreement])
        let swapped = try self.report(
            try forge.notification(
                transaction: try forge.sign(Forge.renewalInfo()), renewalInfo: try forge.sign(Forge.transaction())))
        #expect(
            swapped.parts[1].problems.map(\.sentence) == ["expected a transaction, but this is renewal information"])
        #expect(
            swapped.parts[2].problems.map(\.sentence) == ["expected renewal information, but this is a transaction"])
    }

    @Test func everythingThatKeepsANotificationFromBeingAppliedIsReported() throws {
        let cases = [
            try forge.notification(["data": nil]), try forge.notification(["signedDate": nil]),
            try forge.notification(data: ["signedTransactionInfo": nil, "signedRenewalInfo": nil]),
            try forge.notification(data: ["signedTransactionInfo": Forge.number(7)]),
            try forge.notification(data: ["status": .string("1")]), try forge.appNotification(["bundleId": nil]),
            try forge.appNotification(["receiptCreationDate": .string("x")]),
        ]
        let verifier = try forge.notifications()
        for jws in cases {
            let body = SignedBody.body(signedPayload: jws)
            let found = failure { _ = try verifier.verify(body, for: Forge.identity, now: Forge.now) }
            let problems = try report(jws).parts.flatMap(\.problems)
            check(found.map { problems.contains($0) } == true, "\(String(describing: found)) in \(problems)")
        }
    }

    @Test func aReportSaysWhatTheSignedDataIsAbout() throws {
        #expect(
            try report(try forge.notification()).effect == .applied(.production, originalTransactionID: "12345"))
        #expect(try report(try forge.appNotification()).effect == .noted)
        #expect(
            try report(try forge.sign(Forge.transaction())).effect
                == .transaction(.production, originalTransactionID: "12345"))
        #expect(
            try report(try forge.sign(Forge.renewalInfo())).effect
                == .renewalInfo(.production, originalTransactionID: "12345"))
        #expect(try report(try forge.sign(Forge.appTransaction())).effect == nil)
        #expect(try report(try forge.notification(), expecting: .init(bundleID: "x")).effect == nil)
    }

    @Test func aReportSaysWhatANotificationMeansAndWhichEventItLeadsTo() throws {
        let jws = try forge.notification(["notificationType": .string("REFUND"), "subtype": nil])
        let good = try report(jws)
        #expect(good.row?.event == .refundGranted)
        #expect(good.text.contains("A transaction was refunded"))
        #expect(good.text.contains("It leads to the event refund.granted."))
        let json = try JSONValue.parse(Array(good.json.utf8))
        #expect(json["notification"]?["event"]?.string == "refund.granted")
        #expect(json["notification"]?["documented"]?.bool == true)
        let new = try report(try forge.notification(["subtype": .string("TOMORROW")]))
        #expect(new.text.contains("It leads to the event notification.unknown."))
        for other in [
            try report(jws, expecting: .init(bundleID: "x")), try report(try forge.sign(Forge.transaction())),
        ] {
            #expect(!other.text.contains("leads to the event"))
            #expect(try JSONValue.parse(Array(other.json.utf8))["notification"] == .null)
        }
    }

    @Test func membersAreShownWithWhatTheyMean() throws {
        let payload = Forge.transaction([
            "price": Forge.number(10990), "offerType": Forge.number(4), "revocationType": .string("TOMORROW"),
            "new": .array([.bool(true)]), "currency": Forge.number(1), "revocationPercentage": Forge.number(50000),
        ])
        let report = try report(try forge.sign(payload))
        let fields = report.parts[0].fields
        func field(_ name: String) -> PayloadField? { fields.first { $0.name == name } }
        #expect(field("price")?.meaning == "10.990")
        #expect(field("offerType")?.meaning == "winBack")
        #expect(field("revocationPercentage")?.meaning == "50.000 %")
        #expect(field("expiresDate")?.meaning == (Forge.now + .seconds(86_400)).rfc3339)
        #expect(field("revocationType")?.isKnown == false)
        #expect(field("new")?.value == "[true]")
        #expect(field("new")?.isKnown == false)
        #expect(field("currency") == nil)
        #expect(report.parts[0].warnings.map(\.description) == ["currency is not a text"])
        #expect(report.isFine)
        #expect(report.text.contains("not known to this version"))
        #expect(report.text.contains("warning  currency is not a text"))
    }

    @Test func dataOfALocalTestIsRecognisedAndSaidToBeSuch() throws {
        let jws = try Forge.xcode(XcodeSignedTests.transaction)
        let report = try report(jws)
        #expect(!report.isFine)
        #expect(report.parts[0].signer == .localTest)
        #expect(report.parts[0].problems.map(\.code) == [.chainLength, .wrongEnvironment])
        #expect(report.text.contains("signed by Xcode or another local test"))
        #expect(report.text.contains("--xcode"))
        let local = VerificationReport(ofLocalTest: Array(jws.utf8))
        #expect(local.isFine)
        #expect(local.effect == nil)
        #expect(local.text.contains("It proves nothing"))
        let other = VerificationReport(ofLocalTest: Array(jws.utf8), expecting: "com.other")
        #expect(other.parts[0].problems.map(\.code) == [.wrongApp])
        let real = VerificationReport(ofLocalTest: Array(try forge.notification().utf8))
        #expect(!real.isFine)
        #expect(real.effect == nil)
    }
}
