import AppStore
import Entitlements
import JSON
import Testing
import Time

@Suite struct NotificationTests {
    let forge: Forge
    let now = Forge.now
    let app = AppID("demo")

    init() throws { forge = try Forge() }

    func verify(_ jws: String, as identity: AppIdentity = Forge.identity) throws -> VerifiedNotification {
        try forge.notifications().verify(SignedBody.body(signedPayload: jws), for: identity, now: now)
    }

    func found(_ jws: String, as identity: AppIdentity = Forge.identity) -> VerificationFailure? {
        failure { _ = try verify(jws, as: identity) }
    }

    @Test func aWholeNotificationBecomesAnObservation() throws {
        let notification = try verify(try forge.notification())
        let observation = try #require(notification.observation(app: app))
        #expect(
            observation.lineage == LineageID(app: app, environment: .production, originalTransactionID: "12345"))
        #expect(observation.source == .notification)
        #expect(observation.notificationType == "SUBSCRIBED")
        #expect(observation.transaction?.transactionID == "23456")
        #expect(observation.renewal?.autoRenewStatus == 1)
        #expect(observation.status == StatusFact(status: 1, signedDate: now))
        #expect(observation.transaction?.payloadHash == SHA256.hexadecimal(Array(Forge.transaction().utf8)))
        #expect(notification.warnings.isEmpty)
    }

    // MARK: Body

    @Test func theBodyIsReadInEveryJSONForm() throws {
        let jws = try forge.notification()
        for body in [
            "{\"signedPayload\":\"\(jws)\"}", " { \"signedPayload\" : \"\(jws)\" }\r\n",
            "{\"new\":[{\"a\":1}],\"signedPayload\":\"\(jws)\"}", "{\"signedPayload\":\"\(jws)\",\"x\":null}",
            "{\"signed\\u0050ayload\":\"\(jws)\"}", "{\"signedPayload\":\"\\u0065\(jws.dropFirst())\"}",
        ] {
            _ = try forge.notifications().verify(Array(body.utf8), for: Forge.identity, now: now)
        }
    }

    @Test(arguments: [
        "", "null", "{}", "[]", #"{"signedPayload":1}"#, #"{"signedPayload":"#, #"{"signedPayload":"a.b.c"} x"#,
        #"{"signedPayload":"a.b.c","signedPayload":"a.b.c"}"#, #"{"signedPayload":"a.b.c""#,
        #"{"signedPayload":"a.b"}"#,
        "\u{FEFF}{}", "eyJ.eyJ.sig",
    ])
    func aBodyThatIsNoneIsMalformed(body: String) throws {
        let verifier = try forge.notifications()
        let found = failure { _ = try verifier.intake(Array(body.utf8), now: now) }
        #expect(found?.code == .malformed)
        #expect(found?.disposition == .refuse)
    }

    // MARK: Identity

    @Test("Invariant 6: another app's notification is not ours") func anotherAppsNotificationIsNotOurs() throws {
        let jws = try forge.notification()
        #expect(found(jws, as: AppIdentity(bundleID: "com.other", appAppleID: 41234))?.code == .wrongApp)
        #expect(found(jws, as: AppIdentity(bundleID: "com.example", appAppleID: 1))?.code == .wrongApp)
        #expect(found(jws, as: AppIdentity(bundleID: "com.example", appAppleID: nil))?.code == .wrongApp)
        #expect(found(try forge.notification(data: ["appAppleId": nil]))?.code == .wrongApp)
        #expect(found(try forge.notification(data: ["bundleId": nil]))?.code == .wrongApp)
        #expect(found(jws, as: AppIdentity(bundleID: "com.Example", appAppleID: 41234))?.disposition == .quarantine)
    }

    @Test(
        "Invariant 6: Xcode's and local testing's data cannot enter",
        arguments: ["Xcode", "LocalTesting", "production", ""])
    func onlyTwoEnvironmentsExist(name: String) throws {
        #expect(found(try forge.notification(data: ["environment": .string(name)]))?.code == .wrongEnvironment)
    }

    @Test func theSandboxHasNoAppleID() throws {
        let jws = try forge.notification(
            transaction: try forge.sign(Forge.transaction(["environment": .string("Sandbox")])),
            renewalInfo: try forge.sign(Forge.renewalInfo(["environment": .string("Sandbox")])),
            data: ["environment": .string("Sandbox"), "appAppleId": nil])
        let notification = try verify(jws, as: AppIdentity(bundleID: "com.example", appAppleID: nil))
        #expect(notification.observation(app: app)?.lineage.environment == .sandbox)
        let production = failure {
            _ = try forge.notifications().verify(
                SignedBody.body(signedPayload: jws), for: Forge.identity, now: now, environments: [.production])
        }
        #expect(production?.code == .wrongEnvironment)
    }

    // MARK: Nested parts

    @Test("Invariant 6: a nested part is verified as strictly as its envelope") func nestedPartsAreVerifiedToo() throws
    {
        let other = try Forge()
        let cases: [(String, VerificationFailure.Code)] = [
            (try forge.notification(transaction: try other.sign(Forge.transaction())), .notTrusted),
            (try forge.notification(renewalInfo: try other.sign(Forge.renewalInfo())), .notTrusted),
            (try forge.notification(transaction: try forge.sign(Forge.transaction(), key: SigningKey())), .signature),
            (try forge.notification(transaction: "nonsense"), .malformed),
            (try forge.notification(transaction: ""), .malformed),
            (try forge.notification(transaction: try forge.sign(Forge.renewalInfo())), .wrongKind),
            (try forge.notification(renewalInfo: try forge.sign(Forge.transaction())), .wrongKind),
        ]
        for (jws, expected) in cases {
            let found = found(jws)
            #expect(found?.code == expected)
            #expect(found?.isNested == true)
            // The envelope is Apple's: that is kept, whatever it carries.
            #expect(found?.disposition == .quarantine)
        }
    }

    @Test func nestedPartsMustAgreeWithTheirEnvelope() throws {
        let cases = [
            try forge.notification(transaction: forge.sign(Forge.transaction(["bundleId": .string("com.other")]))),
            try forge.notification(transaction: forge.sign(Forge.transaction(["environment": .string("Sandbox")]))),
            try forge.notification(renewalInfo: forge.sign(Forge.renewalInfo(["environment": .string("Sandbox")]))),
            try forge.notification(renewalInfo: forge.sign(Forge.renewalInfo(["environment": nil]))),
            try forge.notification(
                renewalInfo: forge.sign(Forge.renewalInfo(["originalTransactionId": .string("999")]))),
        ]
        for jws in cases { #expect(found(jws)?.code == .disagreement) }
        for change: [String: JSONValue?] in [
            ["bundleId": .string("com.other")], ["bundleId": nil], ["receiptType": .string("Sandbox")],
            ["appAppleId": Forge.number(1)], ["appAppleId": nil],
        ] {
            let found = found(try forge.appNotification(change))
            #expect(found?.code == .disagreement, "\(change)")
            #expect(found?.part == .appTransaction)
            #expect(found?.isNested == true)
        }
    }

    @Test("Pitfall 13: an old non-consumable that names no bundle is vouched for by what surrounds it")
    func aTransactionWithoutABundleIsVouchedFor() throws {
        let old = try forge.sign(Forge.transaction(["bundleId": nil]))
        _ = try verify(try forge.notification(transaction: old))
        let single = SignedDataVerifier(try forge.verifier())
        func found(_ bundle: String?) -> VerificationFailure? {
            failure {
                _ = try single.observation(
                    transaction: Array(old.utf8)[...], app: app, identity: Forge.identity, source: .history,
                    answerFor: bundle, now: now)
            }
        }
        #expect(found("com.example") == nil)
        #expect(found("com.other")?.code == .wrongApp)
        // From a device there is nothing that vouches for it.
        #expect(found(nil)?.sentence == "no bundle id is named")
    }

    @Test("Pitfall 1: without the app's Apple id nothing from production passes, and the failure says what to set")
    func productionNeedsTheAppleID() throws {
        let found = found(try forge.notification(), as: AppIdentity(bundleID: "com.example", appAppleID: nil))
        #expect(found?.code == .wrongApp)
        #expect(found?.sentence == "it is from production, and the app's Apple id is not set (appAppleId)")
    }

    @Test func aPartThatDecidesAndCannotBeReadIsNotGuessedAt() throws {
        let damaged: [[String: JSONValue?]] = [
            ["expiresDate": .string("tomorrow")], ["expiresDate": .number(JSONNumber(.max))],
            ["revocationDate": .bool(true)], ["purchaseDate": nil], ["transactionId": .string("")],
            ["isUpgraded": .string("yes")], ["signedDate": .null],
            ["originalTransactionId": .number(JSONNumber(12345))],
        ]
        for change in damaged {
            let found = found(try forge.notification(transaction: try forge.sign(Forge.transaction(change))))
            #expect(found?.code == .payload, "\(change)")
            #expect(found?.disposition == .quarantine)
        }
        let wrongTyped = try forge.notification(data: ["signedTransactionInfo": JSONValue.number(JSONNumber(1))])
        #expect(found(wrongTyped)?.code == .payload)
    }

    @Test func aDamagedFieldThatDecidesNothingCostsOnlyItself() throws {
        let transaction = try forge.sign(Forge.transaction(["price": .string("free"), "quantity": .null]))
        let notification = try verify(try forge.notification(transaction: transaction))
        #expect(notification.warnings.map(\.warning.field) == ["price"])
        #expect(notification.warnings.map(\.kind) == [.transaction])
        #expect(notification.observation(app: app)?.transaction?.price == nil)
    }

    // MARK: Shapes

    @Test func aTestNotificationSaysNothingAboutALineage() throws {
        let jws = try forge.notification(
            data: ["signedTransactionInfo": nil, "signedRenewalInfo": nil, "status": nil],
            ["notificationType": .string("TEST"), "subtype": nil])
        #expect(try verify(jws).observation(app: app) == nil)
    }

    @Test("Invariant 2: an unknown type is as good as a known one") func anUnknownTypeIsApplied() throws {
        let jws = try forge.notification(["notificationType": .string("TOMORROW"), "subtype": .string("X")])
        let observation = try #require(try verify(jws).observation(app: app))
        #expect(observation.notificationType == "TOMORROW")
        #expect(observation.transaction != nil)
    }

    @Test("Invariant 2, pitfall 2: a shape of tomorrow is told from another app's notification")
    func aShapeOfTomorrowHasAVerdictOfItsOwn() throws {
        func shape(_ name: String, _ members: [String: JSONValue]) throws -> String {
            var object = JSONObject()
            for (key, value) in members { object[key] = value }
            return try forge.notification([
                "data": nil, name: .object(object), "notificationType": .string("UNCLAIM_SEATS"), "subtype": nil,
            ])
        }
        #expect(found(try shape("unclaimInfo", ["unclaimSeatIds": .array([])]))?.code == .unknownShape)
        #expect(found(try shape("tomorrowInfo", [:]))?.code == .unknownShape)
        #expect(found(try forge.notification(["data": nil]))?.code == .unknownShape)
        let whole: [String: JSONValue] = [
            "bundleId": .string("com.example"), "environment": .string("Production"), "appAppleId": Forge.number(41234),
        ]
        #expect(try verify(shape("tomorrowInfo", whole)).payload.body == .unknown("tomorrowInfo"))
        #expect(try verify(shape("unclaimInfo", whole)).observation(app: app) == nil)
        let others = whole.merging(["bundleId": .string("com.other")]) { $1 }
        #expect(found(try shape("tomorrowInfo", others))?.code == .wrongApp)
    }

    @Test("Pitfall 2: a notification that has only appData is whole") func aNotificationAboutAnAppIsWhole() throws {
        let notification = try verify(try forge.appNotification())
        #expect(notification.appTransaction?.payload.appTransactionID == "71134")
        #expect(notification.observation(app: app) == nil)
    }

    @Test("Pitfall 2: UNCLAIM_SEATS is read, and nothing of it is lost") func seatsGivenBackAreRead() throws {
        let seat = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
        var object = JSONObject()
        object["bundleId"] = .string("com.example")
        object["environment"] = .string("Sandbox")
        object["unclaimSeatIds"] = .array([.string(seat)])
        object["new"] = .string("kept")
        let notification = try verify(
            try forge.notification([
                "data": nil, "subtype": nil, "notificationType": .string("UNCLAIM_SEATS"),
                "unclaimInfo": .object(object),
            ]))
        guard case .unclaimInfo(let info) = notification.payload.body else {
            Issue.record("no unclaimInfo")
            return
        }
        #expect(info.unclaimSeatIDs == [seat.lowercased()])
        #expect(notification.environment == .sandbox)
        let signed = String(decoding: notification.envelope.bytes, as: UTF8.self)
        #expect(signed.contains(#""new":"kept""#))
    }

    @Test("Invariant 2: a purchase that cannot be found is not taken for something without effect")
    func aPurchaseThatCannotBeFoundIsAFailure() throws {
        for type in NotificationType.allCases {
            let change: [String: JSONValue?] = ["notificationType": .string(type.rawValue)]
            let empty: [String: JSONValue?] = ["signedTransactionInfo": nil, "signedRenewalInfo": nil]
            let found = found(try forge.notification(data: empty, change))
            #expect(found?.code == (NotificationTable.undocumented(type).isAboutPurchase ? .payload : nil), "\(type)")
            let only = try forge.notification(data: ["signedRenewalInfo": nil], change)
            #expect(try verify(only).observation(app: app) != nil, "\(type)")
        }
        var object = JSONObject()
        object["bundleId"] = .string("com.example")
        object["environment"] = .string("Sandbox")
        let moved = try forge.notification(["data": nil, "tomorrowInfo": .object(object)])
        #expect(self.found(moved)?.code == .unknownShape)
    }

    @Test func severalObjectsAreWarnedOfAndTheFirstInApplesOrderCounts() throws {
        let notification = try verify(
            try forge.notification(["summary": .object(JSONObject()), "tomorrow": .object(JSONObject())]))
        #expect(notification.warnings.map(\.warning.description) == ["objects are several, where one is expected"])
        #expect(notification.observation(app: app) != nil)
    }

    // MARK: The door

    @Test func theDoorLetsInWhatAppleSignedAndSaysWhatItDoubts() throws {
        let verifier = try forge.notifications()
        func intake(_ jws: String) throws -> NotificationVerifier.Intake {
            try verifier.intake(SignedBody.body(signedPayload: jws), now: now)
        }
        let plain = try intake(try forge.notification())
        #expect(plain.doubt == nil)
        #expect(plain.environment == .production)
        #expect(plain.notificationUUID == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        let ahead = try intake(try forge.notification(["signedDate": Forge.date(now + .seconds(7200))]))
        #expect(ahead.doubt?.code == .signedTooFarAhead)
        #expect(try intake(try forge.sign(Forge.transaction())).doubt?.code == .wrongKind)
        #expect(try intake(try forge.sign("[]")).doubt?.code == .payload)
        let forged = failure { _ = try intake(try Forge().notification()) }
        #expect(forged?.disposition == .refuse)
    }
}
