import AppStore
import Glibc
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// Signatures that apps pass to StoreKit, held against Apple's own library and against OpenSSL's command.
@Suite struct OfferTests {
    static let vectors = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures/Offers/vectors.json"
    static let openssl = "/usr/bin/openssl"
    static let now = Timestamp(milliseconds: 1_796_022_166_123)
    static let nonce = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

    let key: SigningKey
    let signer: OfferSigner

    init() throws {
        key = try SigningKey()
        signer = try OfferSigner(
            key: key, keyID: "L256SYR32L", issuerID: "57246542-96fe-1a63-e053-0824d011072a", bundleID: "com.example")
    }

    /// Asks the openssl command whether `signature` (DER) is of `text` by `publicKey` (DER).
    func opensslAccepts(_ signature: [UInt8], of text: [UInt8], by publicKey: [UInt8]) async throws -> Bool {
        let folder = try TemporaryFolder()
        for (name, bytes) in [
            ("text", text), ("signature", signature),
            ("key.pem", Array(PEM.encode(publicKey, label: "PUBLIC KEY").utf8)),
        ] { try folder.write(bytes, to: name) }
        let result = try await Command.run(
            Self.openssl,
            [
                "dgst", "-sha256", "-verify", folder.file("key.pem"), "-signature", folder.file("signature"),
                folder.file("text"),
            ])
        return result.status == 0
    }

    struct ApplesVectors {
        let document: JSONValue
        let publicKey: [UInt8]

        init() throws {
            document = try JSONValue.parse(try File.bytes(at: OfferTests.vectors))
            publicKey = try #require(document["publicKey"]?.string.flatMap(Base64.decode))
        }

        /// Header and claims of one of Apple's JWS, its signature checked.
        func jws(_ name: String) throws -> (header: JSONValue, claims: JSONValue) {
            try OfferTests.parts(
                of: try #require(document[name]?.string),
                by: try #require(VerifyingKey(subjectPublicKeyInfo: publicKey)))
        }
    }

    static func parts(of jws: String, by key: VerifyingKey) throws -> (header: JSONValue, claims: JSONValue) {
        let parts = jws.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(key.isES256Signature(signature, of: Array("\(parts[0]).\(parts[1])".utf8)[...]))
        return (
            try JSONValue.parse(try #require(Base64URL.decode(parts[0]))),
            try JSONValue.parse(try #require(Base64URL.decode(parts[1])))
        )
    }

    // MARK: The original promotional offer

    @Test(.enabled(if: access(openssl, X_OK) == 0, "needs the openssl command"))
    func applesPromotionalOffersAreSignaturesOfOurText() async throws {
        let apple = try ApplesVectors()
        let vectors = try #require(apple.document["promotionalOffer"]?.array)
        #expect(vectors.count == 3)
        for vector in vectors {
            let nonce = try #require(vector["nonce"]?.string)
            let timestamp = Timestamp(milliseconds: try #require(vector["timestamp"]?.int64))
            let offer = try PromotionalOffer(
                productID: "pro.monthly", offerID: "half.off", appAccountToken: vector["token"]?.string, nonce: nonce)
            let text = offer.signedText(
                bundleID: "com.example", keyID: "L256SYR32L", nonce: nonce, timestamp: timestamp)
            let signature = try #require(vector["signature"]?.string.flatMap(Base64.decode))
            #expect(try await opensslAccepts(signature, of: Array(text.utf8), by: apple.publicKey), "\(vector)")
            #expect(try await !opensslAccepts(signature, of: Array(text.utf8) + [0x20], by: apple.publicKey))
        }
    }

    @Test(.enabled(if: access(openssl, X_OK) == 0, "needs the openssl command"))
    func opensslAcceptsOurPromotionalOffer() async throws {
        let offer = try PromotionalOffer(
            productID: "pro.monthly", offerID: "half.off", appAccountToken: "7E3FB20B-4CDB-47CC-936D-99D65F608138",
            nonce: "20FBA8A0-2B80-4A7D-A17F-85C1854727F8", timestamp: Timestamp(milliseconds: 1_698_148_900_000))
        let signature = try signer.sign(.promotionalOffer(offer), now: Self.now)
        let text = """
            com.example|L256SYR32L|pro.monthly|half.off|7e3fb20b-4cdb-47cc-936d-99d65f608138|\
            20fba8a0-2b80-4a7d-a17f-85c1854727f8|1698148900000
            """
        let separated = text.split(separator: "|").joined(separator: "\u{2063}")
        let der = try #require(Base64.decode(signature.text))
        #expect(try await opensslAccepts(der, of: Array(separated.utf8), by: try key.subjectPublicKeyInfo()))
        #expect(signature.nonce == "20fba8a0-2b80-4a7d-a17f-85c1854727f8")
        let json = try JSONValue.parse(Array(signature.json.utf8))
        #expect(json["timestamp"]?.int64 == 1_698_148_900_000)
        #expect(json["keyId"]?.string == "L256SYR32L")
        #expect(json["signature"]?.string == signature.text)
    }

    @Test func withoutATokenItsPlaceIsEmpty() throws {
        let text = try PromotionalOffer(productID: "p", offerID: "o", appAccountToken: "").signedText(
            bundleID: "b", keyID: "k", nonce: "N", timestamp: Timestamp(milliseconds: 1))
        #expect(text == "b\u{2063}k\u{2063}p\u{2063}o\u{2063}\u{2063}n\u{2063}1")
        #expect(Array(text.utf8)[1...3] == [0xE2, 0x81, 0xA3])
    }

    @Test func eachSignatureHasANonceOfItsOwnAndBeginsNow() throws {
        let offer = OfferRequest.promotionalOffer(try PromotionalOffer(productID: "p", offerID: "o"))
        let first = try signer.sign(offer, now: Self.now)
        let second = try signer.sign(offer, now: Self.now)
        #expect(first.nonce != second.nonce)
        #expect(UUIDText.canonical(first.nonce) == first.nonce)
        #expect(first.nonce.utf8.dropFirst(14).first == UInt8(ascii: "4"))
        #expect(first.timestamp == Self.now)
    }

    // MARK: JWS

    /// Ours must say what Apple's library says, apart from the moment and the nonce.
    func agree(_ name: String, _ request: OfferRequest) throws -> (theirs: JSONValue, ours: JSONValue) {
        let theirs = try ApplesVectors().jws(name)
        let signature = try signer.sign(request, now: Self.now, nonce: Self.nonce.uppercased())
        let ours = try Self.parts(of: signature.text, by: try key.verifyingKey())
        #expect(ours.header == theirs.header)
        var left = try #require(theirs.claims.object)
        var right = try #require(ours.claims.object)
        #expect(right["iat"]?.int64 == Self.now.milliseconds / 1000)
        #expect(right["nonce"]?.string == Self.nonce)
        #expect(right["exp"] == nil)
        for name in ["iat", "nonce", "request"] {
            left[name] = nil
            right[name] = nil
        }
        #expect(left == right)
        return (theirs.claims, ours.claims)
    }

    @Test func promotionalOffersSayWhatApplesLibrarySays() throws {
        _ = try agree(
            "promotionalOfferV2",
            .promotionalOfferV2(
                PromotionalOfferV2(productID: "pro.monthly", offerID: "half.off", transactionID: "2000000123")))
        _ = try agree(
            "promotionalOfferV2WithoutTransaction",
            .promotionalOfferV2(PromotionalOfferV2(productID: "pro.monthly", offerID: "half.off")))
    }

    @Test func introductoryOffersSayWhatApplesLibrarySays() throws {
        _ = try agree(
            "introductoryOffer",
            .introductoryOffer(
                IntroductoryOfferEligibility(productID: "pro.monthly", isAllowed: false, transactionID: "2000000123")))
    }

    static let subscription = """
        {"operation":"CREATE_SUBSCRIPTION","currency":"USD","taxCode":"C003-00-1","period":"P1M","storefront":"USA",
        "requestInfo":{"requestReferenceId":"0B0EFCB7-5F4E-4E0C-8F2C-6A7C2B1B7F10",
        "appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138","consistencyToken":null},
        "descriptors":{"description":"Everything","displayName":"Pro"},
        "items":[{"SKU":"sku.1","description":"One","displayName":"First","price":4990,
        "offer":{"period":"P1M","periodCount":3,"price":990,"reason":"ACQUISITION"}}]}
        """

    func request(_ json: String) throws -> AdvancedCommerceRequest {
        try AdvancedCommerceRequest(try JSONValue.parse(Array(json.utf8)))
    }

    @Test func advancedCommerceRequestsSayWhatApplesLibrarySays() throws {
        let (theirs, ours) = try agree("advancedCommerce", .advancedCommerce(try request(Self.subscription)))
        func inner(_ claims: JSONValue) throws -> JSONValue {
            try JSONValue.parse(try #require(claims["request"]?.string.flatMap(Base64.decode)))
        }
        #expect(try inner(ours) == inner(theirs))
    }

    @Test("Pitfall 20: operation and version are in every Advanced Commerce request, given or not")
    func theStaticFieldsAreAlwaysThere() throws {
        let info = #""requestInfo":{"requestReferenceId":"0b0efcb7-5f4e-4e0c-8f2c-6a7c2b1b7f10"}"#
        let item = #"{"SKU":"s","description":"d","displayName":"n","price":0}"#
        let requests = [
            #"{"operation":"CREATE_ONE_TIME_CHARGE",\#(info),"currency":"EUR","taxCode":"t","item":\#(item)}"#,
            Self.subscription,
            #"{"operation":"MODIFY_SUBSCRIPTION",\#(info),"transactionId":"1","retainBillingCycle":true,"version":"1"}"#,
            #"{"operation":"REACTIVATE_SUBSCRIPTION",\#(info),"transactionId":"1","items":[{"SKU":"s"}]}"#,
        ]
        for (text, operation) in zip(requests, AdvancedCommerceRequest.Operation.allCases) {
            let signed = try JSONValue.parse(try request(text).json)
            #expect(signed["operation"]?.string == operation.rawValue)
            #expect(signed["version"]?.string == "1")
            #expect(signed["requestInfo"]?["requestReferenceId"] != nil)
        }
    }

    @Test(arguments: [
        ("\"One\"", "\"\(String(repeating: "d", count: 46))\"", "items[0].description"),
        ("\"First\"", "\"\(String(repeating: "n", count: 31))\"", "items[0].displayName"),
        ("\"sku.1\"", "\"\(String(repeating: "s", count: 129))\"", "items[0].SKU"),
        ("\"sku.1\"", "\"\"", "items[0].SKU"),
        ("\"periodCount\":3", "\"periodCount\":0", "items[0].offer.periodCount"),
        ("\"periodCount\":3", "\"periodCount\":13", "items[0].offer.periodCount"),
        ("\"periodCount\":3", "\"periodCount\":2.5", "items[0].offer.periodCount"),
        ("\"price\":990", "\"price\":-1", "items[0].offer.price"),
        ("\"price\":4990", "\"price\":\"4.99\"", "items[0].price"),
        ("\"ACQUISITION\"", "\"LOYALTY\"", "items[0].offer.reason"),
        ("\"P1M\",\"storefront\"", "\"P2W\",\"storefront\"", "period"),
        ("CREATE_SUBSCRIPTION\"", "CREATE_SUBSCRIPTION\",\"version\":\"2\"", "version"),
        ("CREATE_SUBSCRIPTION", "CANCEL", "operation"),
        ("\"currency\":\"USD\",", "", "currency"),
        ("\"currency\"", "\"curency\"", "curency"),
        ("\"displayName\":\"Pro\"", "\"displayName\":null", "descriptors.displayName"),
        ("0B0EFCB7-", "0B0EFCB7", "requestInfo.requestReferenceId"),
    ])
    func whatBreaksApplesRulesIsNamed(old: String, new: String, field: String) throws {
        #expect(Self.subscription.contains(old))
        let parts = Self.subscription.replacing(old, with: new, maxReplacements: 1)
        let error = #expect(throws: OfferError.self) { try request(parts) }
        #expect(error?.field == field, "\(String(describing: error))")
    }

    @Test func theLongestThatApplesLimitsAllowPasses() throws {
        let text = Self.subscription.replacing("\"One\"", with: "\"\(String(repeating: "d", count: 45))\"")
            .replacing("\"First\"", with: "\"\(String(repeating: "n", count: 30))\"")
            .replacing("\"sku.1\"", with: "\"\(String(repeating: "s", count: 128))\"")
            .replacing("\"periodCount\":3", with: "\"periodCount\":12")
        #expect(try request(text).operation == .createSubscription)
    }

    @Test func noItemsAtAllAreRefused() throws {
        let start = try #require(Self.subscription.firstRange(of: "\"items\":")).upperBound
        let error = #expect(throws: OfferError.self) { try request(Self.subscription[..<start] + "[]}") }
        #expect(error?.field == "items")
    }

    // MARK: One object for every kind

    func read(_ json: String) throws -> OfferRequest { try OfferRequest(try JSONValue.parse(Array(json.utf8))) }

    @Test func everyKindIsReadFromOneObject() throws {
        #expect(
            try read(#"{"kind":"promotional-offer","productId":"p","offerId":"o","timestamp":5}"#)
                == .promotionalOffer(
                    PromotionalOffer(productID: "p", offerID: "o", timestamp: Timestamp(milliseconds: 5))))
        #expect(
            try read(#"{"kind":"promotional-offer-v2","productId":"p","offerId":"o","transactionId":null}"#)
                == .promotionalOfferV2(PromotionalOfferV2(productID: "p", offerID: "o")))
        #expect(
            try read(
                #"{"kind":"introductory-offer","productId":"p","allowIntroductoryOffer":true,"transactionId":"1"}"#)
                == .introductoryOffer(
                    IntroductoryOfferEligibility(productID: "p", isAllowed: true, transactionID: "1")))
        #expect(
            try read(#"{"kind":"advanced-commerce","request":\#(Self.subscription)}"#)
                == .advancedCommerce(try request(Self.subscription)))
    }

    @Test(
        arguments: [
            ("[]", nil), ("{}", "kind"), (#"{"kind":"offer"}"#, "kind"),
            (#"{"kind":"promotional-offer","productId":"p"}"#, "offerId"),
            (#"{"kind":"promotional-offer","productId":"p","offerId":"o\u2063x"}"#, "offerId"),
            (#"{"kind":"promotional-offer","productId":"p","offerId":"o","nonce":"1"}"#, "nonce"),
            (#"{"kind":"promotional-offer","productId":"p","offerId":"o","timestamp":0}"#, "timestamp"),
            (#"{"kind":"promotional-offer-v2","productId":"","offerId":"o"}"#, "productId"),
            (
                #"{"kind":"promotional-offer-v2","productId":"p","offerId":"o","offerIdentifier":"o"}"#,
                "offerIdentifier"
            ),
            (#"{"kind":"introductory-offer","productId":"p","transactionId":"1"}"#, "allowIntroductoryOffer"),
            (
                #"{"kind":"introductory-offer","productId":"p","allowIntroductoryOffer":1,"transactionId":"1"}"#,
                "allowIntroductoryOffer"
            ),
            (#"{"kind":"introductory-offer","productId":"p","allowIntroductoryOffer":true}"#, "transactionId"),
            (#"{"kind":"advanced-commerce"}"#, "request"),
            (#"{"kind":"advanced-commerce","request":{"operation":"MODIFY_SUBSCRIPTION"}}"#, "request.requestInfo"),
        ] as [(String, String?)])
    func theWrongFieldIsNamed(json: String, field: String?) throws {
        let error = #expect(throws: OfferError.self) { try read(json) }
        #expect(error?.field == field, "\(String(describing: error))")
    }

    @Test func aJWSNeedsAnIssuerAndEveryKindAKeyOnP256() throws {
        let signer = try OfferSigner(key: key, keyID: "K", issuerID: nil, bundleID: "b")
        let offer = try PromotionalOfferV2(productID: "p", offerID: "o")
        let error = #expect(throws: OfferError.self) { try signer.sign(.promotionalOfferV2(offer), now: Self.now) }
        #expect(error?.field == "issuerId")
        _ = try signer.sign(.promotionalOffer(PromotionalOffer(productID: "p", offerID: "o")), now: Self.now)
        #expect(throws: OfferError.self) {
            try OfferSigner(key: SigningKey(generating: .p384), keyID: "K", issuerID: "i", bundleID: "b")
        }
    }
}

/// The command as people and scripts call it.
@Suite struct SignCommandTests {
    func holdfast(_ arguments: [String], key: SigningKey, file: String = "SubscriptionKey_ABC123.p8") async throws
        -> Command.Result
    {
        let folder = try TemporaryFolder()
        let path = try folder.write(key.pem(), to: file)
        return try await Command.run(
            try ChildProcess.product("holdfast"),
            ["sign"] + arguments + ["--key", path, "--bundle-id", "com.example", "--issuer-id", "issuer"])
    }

    @Test func anOfferIsSignedUnderTheKeysNameInTheFile() async throws {
        let key = try SigningKey()
        let result = try await holdfast(["promotional-offer", "--product=p", "--offer=o", "--json"], key: key)
        #expect(result.status == 0, "\(result.output)")
        #expect(try JSONValue.parse(Array(result.output.utf8))["keyId"]?.string == "ABC123")
        let jws = try await holdfast(
            ["introductory-offer", "--product=p", "--transaction=1", "--allow=true", "--key-id=X"], key: key)
        let line = try #require(jws.output.split(separator: "\n").first)
        let (header, claims) = try OfferTests.parts(of: String(line), by: try key.verifyingKey())
        #expect(header["kid"]?.string == "X")
        #expect(claims["allowIntroductoryOffer"]?.bool == true)
        #expect(claims["iss"]?.string == "issuer")
    }

    @Test func mistakesNameTheOption() async throws {
        let key = try SigningKey()
        let missing = try await holdfast(["promotional-offer", "--product=p"], key: key)
        #expect(missing.status == 2)
        #expect(missing.output.contains("--offer: it is missing"))
        #expect(try await holdfast(["offer"], key: key).status == 2)
        #expect(try await holdfast(["introductory-offer", "--allow=maybe"], key: key).status == 2)
        let unnamed = try await holdfast(["promotional-offer-v2", "--product=p", "--offer=o"], key: key, file: "k.p8")
        #expect(unnamed.status == 2)
        #expect(unnamed.output.contains("--key-id"))
        let curve = try await holdfast(
            ["promotional-offer", "--product=p", "--offer=o"], key: try SigningKey(generating: .p384))
        #expect(curve.status == 2)
    }

    @Test func theKeyMayBeTheSettings() async throws {
        let folder = try TemporaryFolder()
        let key = try SigningKey()
        try folder.write(key.pem(), to: "key.p8")
        func settings(_ serverAPI: String) -> String {
            """
            { "apps": { "myapp": { "bundleId": "com.example", "appAppleId": 1, "products": {}\(serverAPI) } },
              "keys": { "k": { "secret": "0123456789abcdef", "scopes": ["read"] } },
              "broker": { "host": "localhost" }, "redis": { "host": "localhost" },
              "spool": { "folder": "\(folder.file("spool"))" } }
            """
        }
        func sign(_ arguments: String...) async throws -> Command.Result {
            try await Command.run(
                try ChildProcess.product("holdfast"),
                ["sign", "promotional-offer-v2", "--product=p", "--offer=o", "--settings", folder.file("settings")]
                    + arguments)
        }
        try folder.write(
            settings(
                """
                , "serverAPI": { "keyId": "K1", "issuerId": "I1", "privateKeyFile": "\(folder.file("key.p8"))" }
                """), to: "settings")
        let result = try await sign()
        #expect(result.status == 0, "\(result.output)")
        let line = try #require(result.output.split(separator: "\n").first)
        let (header, claims) = try OfferTests.parts(of: String(line), by: try key.verifyingKey())
        #expect(header["kid"]?.string == "K1")
        #expect(claims["iss"]?.string == "I1")
        #expect(claims["bid"]?.string == "com.example")
        #expect(try await sign("--app=other").output.contains("there is myapp"))
        #expect(try await sign("--key", folder.file("key.p8")).status == 2)
        #expect(try await sign("--key-id=K").status == 2)
        try folder.write(settings(""), to: "settings")
        let keyless = try await sign()
        #expect(keyless.status == 2)
        #expect(keyless.output.contains("apps.myapp.serverAPI.keyId"))
    }

    @Test func aRequestThatBreaksTheRulesIsNotSigned() async throws {
        let folder = try TemporaryFolder()
        let key = try SigningKey()
        for (text, status) in [(OfferTests.subscription, 0), ("{}", 1), ("[", 1)] {
            let request = try folder.write(text, to: "request")
            let result = try await holdfast(["advanced-commerce", request], key: key)
            #expect(result.status == status, "\(result.output)")
        }
    }
}
