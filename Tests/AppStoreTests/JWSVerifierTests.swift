import AppStore
import JSON
import TestSupport
import Testing
import Time

@Suite struct JWSVerifierTests {
    let forge: Forge
    let now = Forge.now

    init() throws { forge = try Forge() }

    func code(_ jws: String, now: Timestamp = Forge.now) throws -> VerificationFailure.Code? {
        let verifier = try forge.verifier()
        return failure { _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: now) }?.code
    }

    @Test func aProperTransactionIsVerifiedAndRead() throws {
        let verified = try forge.verifier().verify(
            Array(try forge.sign(Forge.transaction()).utf8)[...], as: TransactionPayload.self, now: now)
        #expect(verified.payload.transactionID == "23456")
        #expect(verified.payload.warnings.isEmpty)
        #expect(verified.chain.links.count == 3)
        #expect(!verified.chain.isApples)
        #expect(verified.bytes == Array(Forge.transaction().utf8))
    }

    // MARK: Form

    @Test(arguments: ["", ".", "..", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "e30.e30.e30", "ü.b.c", "a b.c.d"])
    func whatIsNoJWSIsMalformed(text: String) throws {
        let verifier = try forge.verifier()
        let found = failure { _ = try verifier.verify(Array(text.utf8)[...], as: TransactionPayload.self, now: now) }
        check(found.map { [.malformed, .algorithm].contains($0.code) } == true, "\(String(describing: found))")
    }

    @Test func onlyStrictBase64URLIsRead() throws {
        let good = try forge.sign(Forge.transaction(["x": .string("padding wanted")]))
        let parts = good.split(separator: ".").map(String.init)
        for (index, part) in parts.enumerated() {
            for bad in [part + "=", part + "==", part + "\n", " " + part, part + "+", "%" + part.dropFirst()] {
                var changed = parts
                changed[index] = bad
                #expect(try code(changed.joined(separator: ".")) != nil, "\(index)")
            }
        }
        #expect(try code(good) == nil)
        #expect(try code(parts[0] + "=." + parts[1] + "." + parts[2]) == .malformed)
        #expect(try code(parts[0] + "." + parts[1] + "." + parts[2] + "==") == .malformed)
        #expect(try code(good + "\n") == .malformed)
    }

    @Test(arguments: ["none", "None", "HS256", "RS256", "ES384", "es256", "ES256 ", ""])
    func anotherAlgorithmIsRefused(algorithm: String) throws {
        let x5c = forge.authority.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let jws = try forge.sign(Forge.transaction(), header: "{\"alg\":\"\(algorithm)\",\"x5c\":[\(x5c)]}")
        #expect(try code(jws) == .algorithm)
    }

    @Test("Pitfall 6: a refused algorithm is named, and ES256 is recognised however the header is written")
    func aRefusedAlgorithmIsNamed() throws {
        let verifier = try forge.verifier()
        let x5c = forge.authority.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        for header in [
            "{\"alg\":\"ES256\",\"x5c\":[\(x5c)]}", "{\"x5c\":[\(x5c)],\"alg\":\"ES256\"}",
            " { \"typ\" : \"JWT\" , \"kid\" : null , \"x5c\" : [ \(x5c) ] , \"alg\" : \"ES256\" }\n",
            "{\"\\u0061lg\":\"E\\u0053256\",\"new\":{\"alg\":\"none\"},\"x5c\":[\(x5c.replacing("/", with: "\\/"))]}",
        ] { #expect(try code(forge.sign(Forge.transaction(), header: header)) == nil, "\(header.prefix(30))") }
        for (name, shown) in [("\"HS256\"", "\"HS256\""), ("\"e\\ns\"", "\"e\\ns\""), ("256", "no algorithm")] {
            let jws = Array(try forge.sign("{}", header: "{\"alg\":\(name),\"x5c\":[\(x5c)]}").utf8)
            let found = failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }
            #expect(found?.code == .algorithm)
            #expect(found?.sentence.contains(shown) == true, "\(found?.sentence ?? "")")
        }
    }

    @Test("Pitfall 12: every cause has a code of its own, and tells whether trying again helps")
    func everyCauseHasACodeOfItsOwn() throws {
        let now = Forge.now
        let good = try forge.sign(Forge.transaction())
        let parts = good.split(separator: ".").map(String.init)
        let other = try Forge()
        let x5c = forge.authority.chain
        let later = now + .seconds(20 * 366 * 86_400)
        let cases: [(String, VerificationFailure.Code, Timestamp)] = [
            ("\(parts[0]).\(parts[1])", .malformed, now),
            (try forge.sign("{}", header: #"{"alg":"HS256"}"#), .algorithm, now),
            (try forge.sign("{}", x5c: Array(x5c.prefix(2))), .chainLength, now),
            (try forge.sign("{}", x5c: [x5c[0], [0x30, 0], x5c[2]]), .certificate, now),
            (try other.sign(Forge.transaction()), .notTrusted, now),
            (try forge.sign(Forge.transaction(), key: SigningKey()), .signature, now),
            (try forge.sign(Forge.transaction(["signedDate": Forge.date(later)])), .expired, later),
            (try forge.sign(Forge.transaction(["signedDate": Forge.date(later)])), .signedTooFarAhead, now),
            (try forge.sign("[]"), .payload, now),
            (try forge.sign(Forge.renewalInfo()), .wrongKind, now),
        ]
        for (jws, expected, now) in cases {
            let verifier = try forge.verifier()
            let found = failure { _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: now) }
            #expect(found?.code == expected)
            #expect(found?.isRetryable == false)
            #expect(found?.sentence.isEmpty == false)
        }
        #expect(Set(cases.map(\.1)).count == cases.count)
        #expect(VerificationFailure(.busy, .payload, "").isRetryable)
        #expect(VerificationFailure(.undecidable, .payload, "").isRetryable)
    }

    @Test func algNoneWithoutASignatureIsMalformed() throws {
        let header = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
        #expect(try code("\(header).\(Base64URL.encode(Array(Forge.transaction().utf8))).") == .malformed)
    }

    @Test func aHeaderThatMustBeUnderstoodIsRefused() throws {
        let x5c = forge.authority.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let header = "{\"alg\":\"ES256\",\"crit\":[\"b64\"],\"b64\":false,\"x5c\":[\(x5c)]}"
        #expect(try code(forge.sign(Forge.transaction(), header: header)) == .algorithm)
    }

    @Test(arguments: [
        (#"{"alg":"ES256"}"#, VerificationFailure.Code.chainLength),
        (#"{"alg":"ES256","x5c":"abc"}"#, .chainLength),
        (#"{"alg":"ES256","x5c":[1,2,3]}"#, .chainLength),
        (#"{"alg":"ES256","x5c":[]}"#, .chainLength),
        (#"{"alg":"ES256","x5c":["","",""]}"#, .certificate),
        (#"{"alg":"ES256","x5c":["AAAA","AAAA","AAAA"]}"#, .certificate),
        (#"{"alg":"ES256","alg":"ES256","x5c":[]}"#, .malformed),
        (#"["ES256"]"#, .malformed), ("{", .malformed), ("", .malformed),
        (#"{"x5c":["a","b","c"]}"#, .algorithm), (#"{"alg":1,"x5c":["a","b","c"]}"#, .algorithm),
    ])
    func aCrookedHeaderIsRefused(header: String, expected: VerificationFailure.Code) throws {
        #expect(try code(forge.sign("{}", header: header)) == expected)
    }

    // MARK: Signature

    @Test func aSignatureOfAnotherLengthIsRefused() throws {
        let parts = try forge.sign(Forge.transaction()).split(separator: ".").map(String.init)
        let signature = try #require(Base64URL.decode(parts[2]))
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        let der = try forge.authority.leaf.key.derSignature(of: message)
        for other in [Array(signature.dropLast()), signature + [0], [0] + signature, der, [1]] {
            #expect(try code("\(parts[0]).\(parts[1]).\(Base64URL.encode(other))") == .signature)
        }
    }

    @Test func aPayloadChangedAfterwardsIsRefused() throws {
        let parts = try forge.sign(Forge.transaction()).split(separator: ".").map(String.init)
        let other = Base64URL.encode(Array(Forge.transaction(["productId": .string("com.example.lifetime")]).utf8))
        #expect(try code("\(parts[0]).\(other).\(parts[2])") == .signature)
    }

    @Test func aForeignKeyUnderApplesChainIsRefused() throws {
        #expect(try code(forge.sign(Forge.transaction(), key: try SigningKey())) == .signature)
    }

    @Test func noBitOfTheSignatureIsFree() throws {
        let verifier = try forge.verifier()
        let parts = try forge.sign(Forge.transaction()).split(separator: ".").map(String.init)
        let signature = try #require(Base64URL.decode(parts[2]))
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let jws = Array("\(parts[0]).\(parts[1]).\(Base64URL.encode(changed))".utf8)
            check(
                failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }?.code
                    == .signature)
        }
    }

    // MARK: Payload

    @Test(arguments: [
        "", "null", "[]", "{", #"{"transactionId":"1","transactionId":"2"}"#, #"{"transactionId":"\ud800"}"#,
    ])
    func aSignedPayloadThatIsNoProperJSONIsKeptForLater(payload: String) throws {
        guard !payload.isEmpty else { return #expect(try code(forge.sign(payload)) == .malformed) }
        let verifier = try forge.verifier()
        let jws = Array(try forge.sign(payload).utf8)
        let found = failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }
        #expect(found?.code == .payload)
        #expect(found?.disposition == .quarantine)
    }

    @Test func deepNestingInASignedPayloadHasADefinedEnd() throws {
        let deep = String(repeating: "[", count: 100_000)
        #expect(try code(forge.sign("{\"transactionId\":\(deep)")) == .payload)
    }

    @Test func anotherKindIsNamed() throws {
        let verifier = try forge.verifier()
        let kinds = [
            (Forge.renewalInfo(), "renewal information"), (#"{"notificationType":"TEST"}"#, "a notification"),
            (#"{"receiptType":"Sandbox"}"#, "an app transaction"), ("{}", "of an unknown kind"),
        ]
        for (payload, name) in kinds {
            let jws = Array(try forge.sign(payload).utf8)
            let found = failure { _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now) }
            #expect(found?.code == .wrongKind)
            #expect(found?.sentence.contains(name) == true)
        }
    }

    // MARK: Dates

    @Test func theDateOfSigningIsBoundedByTheClock() throws {
        let ahead = Forge.transaction(["signedDate": Forge.date(now + .seconds(3601))])
        #expect(try code(forge.sign(ahead)) == .signedTooFarAhead)
        #expect(try code(forge.sign(ahead), now: now + .seconds(2)) == nil)
        let inTheFarFuture = Forge.transaction(["signedDate": Forge.number(.max)])
        #expect(try code(forge.sign(inTheFarFuture)) == nil, "a date beyond all years counts as absent here")
    }

    @Test func theCertificatesMustBeValidOnTheDateOfSigning() throws {
        let year: Duration = .seconds(366 * 86_400)
        let tooEarly = Forge.transaction(["signedDate": Forge.date(now - (year + year + year))])
        #expect(try code(forge.sign(tooEarly)) == .expired)
        // Signed while they were valid, and read long after.
        let later = now + .seconds(20 * 366 * 86_400)
        #expect(try code(forge.sign(Forge.transaction()), now: later) == nil)
        #expect(
            try code(forge.sign(Forge.transaction(["signedDate": Forge.date(later)])), now: later) == .expired)
        // Without a date, the clock counts.
        #expect(try code(forge.sign(Forge.transaction(["signedDate": nil])), now: later) == .expired)
        #expect(try code(forge.sign(Forge.transaction(["signedDate": nil]))) == nil)
    }
}
