import AppStore
import Entitlements
import JSON
import TestSupport
import Testing
import Time

/// What Apple published: its root, its chain, its test notification, its sample payloads.
@Suite struct AppleMaterialTests {
    @Test("Invariant 6: the root in the binary is Apple's") func theRootInTheBinaryIsApples() throws {
        let published =
            "63:34:3A:BF:B8:9A:6A:03:EB:B5:7E:9B:3F:5F:A7:BE:7C:4F:5C:75:6F:30:17:B3:A8:C4:88:C3:65:3E:91:79"
        check(TrustedRoots.apple.fingerprints == [published.filter { $0 != ":" }.lowercased()])
        #expect(TrustedRoots.apple.subjects.first?.contains("Apple Root CA - G3") == true)
        let fromFile = try TrustedRoots(file: try fixture("AppleChain/AppleRootCA-G3.pem"))
        #expect(fromFile.fingerprints == TrustedRoots.apple.fingerprints)
    }

    /// Apple's leaf signs nothing for us, so only the signature can fail; the chain must not.
    @Test func applesRealChainIsAccepted() throws {
        let chain = try ["AppStoreSigningLeaf-2025", "AppleWWDRCAG6", "AppleRootCA-G3"].map(certificate)
        #expect(chain.map(\.count) == [1077, 794, 583])
        let jws = try SignedJWS.make(header: SignedJWS.header(x5c: chain), payload: [0x7B, 0x7D], key: SigningKey())
        let verifier = JWSVerifier()
        let found = failure {
            _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: Forge.now)
        }
        #expect(found?.code == .signature)
        #expect(verifier.cachedChainCount == 1)
    }

    @Test func applesTestNotificationNeedsApplesTestRoot() throws {
        let body = try fixture("testNotification")
        let identity = AppIdentity(bundleID: "com.example", appAppleID: 1234)
        let testing = NotificationVerifier(
            JWSVerifier(roots: try TrustedRoots(file: try fixture("testCA.der"))))
        let notification = try testing.verify(signedPayload: trimmed(body), for: identity, now: Forge.now)
        #expect(notification.payload.notificationType == "TEST")
        #expect(notification.environment == .sandbox)
        #expect(notification.observation(app: .init("demo")) == nil)

        let real = NotificationVerifier(JWSVerifier())
        let found = failure {
            _ = try real.verify(signedPayload: trimmed(body), for: identity, now: Forge.now)
        }
        #expect(found?.code == .notTrusted)
        #expect(found?.disposition == .refuse)
    }

    func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes[...].prefix { $0 > 0x20 }
    }

    @Test func rootsThatAreNoneAreRefused() throws {
        #expect(throws: TrustedRootsError.noCertificate) { try TrustedRoots(der: []) }
        #expect(throws: TrustedRootsError.noCertificate) { try TrustedRoots(file: []) }
        #expect(throws: TrustedRootsError.unreadable) { try TrustedRoots(file: [0x30, 1]) }
        let leaf = try certificate("AppStoreSigningLeaf-2025")
        #expect(throws: TrustedRootsError.self) { try TrustedRoots(der: [leaf]) }
    }

    @Test("Pitfall 25: roots are checked when they are read, in DER or PEM, and what is wrong is said")
    func rootsAreCheckedWhenTheyAreRead() throws {
        let pem = try fixture("AppleChain/AppleRootCA-G3.pem")
        let der = try certificate("AppleRootCA-G3")
        let apples = TrustedRoots.apple.fingerprints
        for file in [pem, der, Array("Apple's root:\r\n".utf8) + pem, pem + pem] {
            #expect(Set(try TrustedRoots(file: file).fingerprints) == Set(apples))
        }
        let authority = try CertificateAuthority(makingAt: Forge.now)
        let damaged: [([UInt8], TrustedRootsError)] = [
            (Array(der.dropLast()), .unreadable), (der + [0], .unreadable), (Array(pem.dropLast(40)), .unreadable),
            (Array(String(decoding: pem, as: UTF8.self).replacing("a", with: "*").utf8), .unreadable),
            (Array(Base64.encode(der).utf8), .noCertificate), ([], .noCertificate),
            (authority.leaf.certificate, .notAnAuthority("")),
        ]
        for (file, expected) in damaged {
            let found = #expect(throws: TrustedRootsError.self) { try TrustedRoots(file: file) }
            switch (found, expected) {
            case (.notAnAuthority(let subject)?, .notAnAuthority): #expect(subject.contains("Receipt Signing"))
            default: #expect(found == expected)
            }
            #expect(found?.description.isEmpty == false)
        }
    }

    @Test func applesSampleTransactionIsReadWhole() throws {
        let transaction = try TransactionPayload(json: try fixture("Payloads/signedTransactionWithRevocation.json"))
        #expect(transaction.warnings.isEmpty)
        #expect(transaction.price == 10990)
        #expect(transaction.revocationType == "REFUND_PRORATED")
        #expect(transaction.revocationPercentage == 50000)
        #expect(transaction.appAccountToken == "7e3fb20b-4cdb-47cc-936d-99d65f608138")
        #expect(transaction.expiresDate == Timestamp(milliseconds: 1_698_149_000_000))
        #expect(transaction.isUpgraded == true)
    }

    @Test func applesSampleRenewalInfoIsReadWhole() throws {
        let renewal = try RenewalInfoPayload(json: try fixture("Payloads/signedRenewalInfo.json"))
        #expect(renewal.warnings.isEmpty)
        #expect(renewal.isOfItsKind)
        #expect(renewal.eligibleWinBackOfferIDs == ["eligible1", "eligible2"])
        #expect(renewal.gracePeriodExpiresDate == Timestamp(milliseconds: 1_698_148_900_000))
    }

    @Test(arguments: [
        ("signedNotification", PayloadKind.notification), ("signedTransaction", .transaction),
        ("signedRenewalInfo", .renewalInfo), ("appTransaction", .appTransaction),
        ("decodedRealtimeRequest", .realtimeRequest), ("signedSummaryNotification", .notification),
    ])
    func theKindOfEachSampleIsTold(name: String, kind: PayloadKind) throws {
        #expect(PayloadKind(ofJSON: try fixture("Payloads/\(name).json")) == kind)
    }

    @Test(arguments: [
        "signedNotification", "signedTransaction", "signedTransactionWithRevocation", "signedRenewalInfo",
        "appTransaction", "decodedRealtimeRequest", "signedSummaryNotification", "signedConsumptionRequestNotification",
        "signedExternalPurchaseTokenNotification", "signedExternalPurchaseTokenSandboxNotification",
        "signedRescindConsentNotification",
    ])
    func everyMemberAndValueOfApplesSamplesIsKnown(name: String) throws {
        let json = try fixture("Payloads/\(name).json")
        let fields =
            switch try #require(PayloadKind(ofJSON: json)) {
            case .notification: try NotificationPayload.fields(of: json)
            case .transaction: try TransactionPayload.fields(of: json)
            case .renewalInfo: try RenewalInfoPayload.fields(of: json)
            case .appTransaction: try AppTransactionPayload.fields(of: json)
            case .realtimeRequest: try RealtimeRequestPayload.fields(of: json)
            }
        let unknown = fields.filter { !$0.isKnown }
        #expect(unknown.isEmpty)
        func leaves(_ value: JSONValue) -> Int {
            switch value {
            case .object(let object): object.members.reduce(0) { $0 + leaves($1.value) }
            case .array(let elements): elements.reduce(0) { $0 + leaves($1) }
            case .null, .bool, .number, .string: 1
            }
        }
        let count = leaves(try JSONValue.parse(json))
        #expect(fields.count == count)
    }

    @Test func eachShapeOfANotificationIsRead() throws {
        func read(_ name: String) throws -> NotificationPayload {
            let payload = try NotificationPayload(json: try fixture("Payloads/\(name).json"))
            #expect(payload.warnings.isEmpty)
            #expect(payload.origin.bundleID == "com.example")
            return payload
        }
        guard case .data(let data) = try read("signedConsumptionRequestNotification").body else {
            Issue.record("no data")
            return
        }
        #expect(data.consumptionRequestReason == "UNINTENDED_PURCHASE")
        #expect(data.status == 1)
        guard case .summary(let summary) = try read("signedSummaryNotification").body else {
            Issue.record("no summary")
            return
        }
        #expect(summary.storefrontCountryCodes == ["CAN", "USA", "MEX"])
        #expect(summary.failedCount == 2)
        let token = try read("signedExternalPurchaseTokenNotification")
        #expect(token.origin.environment == "Production")
        #expect(try read("signedExternalPurchaseTokenSandboxNotification").origin.environment == "Sandbox")
        guard case .appData(let app) = try read("signedRescindConsentNotification").body else {
            Issue.record("no appData")
            return
        }
        #expect(app.signedAppTransactionInfo == "signed_app_transaction_info_value")
    }
}
