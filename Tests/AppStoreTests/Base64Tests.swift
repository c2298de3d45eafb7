import AppStore
import JSON
import Testing

@Suite struct Base64Tests {
    @Test(arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")])
    func theVectorsOfTheRFCHold(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        #expect(Base64.encode(Array(plain.utf8)) == padded)
        #expect(Base64.decode(padded) == Array(plain.utf8))
    }

    @Test func everyByteAndLengthSurvivesTheRoundTrip() {
        for count in 0..<520 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test func bothDialectsUseTheirOwnLastCharacters() {
        #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
        #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
        #expect(Base64URL.decode("-_-_") == Base64.decode("+/+/"))
        #expect(Base64URL.decode("+/+/") == nil)
        #expect(Base64.decode("-_-_") == nil)
    }

    @Test(arguments: ["Zg==", "Zg=", "Z", "Zm9vY", "Zh", "Zm9", "Zm9v\n", " Zm9v", "Zm9v.", "Zm\u{0}v", "Zmé"])
    func whatIsNotStrictBase64URLIsRefused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm9v=", "Z=9v", "Zm9v\nZm9v", "Zg==Zg=="])
    func whatIsNotStrictBase64IsRefused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("Pitfall 5: the characters by which the dialects differ are never mistaken for one another")
    func theLastCharactersAreNeverMistaken() throws {
        let forge = try Forge()
        let verifier = try forge.verifier()
        var seen: Set<Character> = []
        for number in 0..<60 {
            // `>` and `?` give one or the other, depending on where they stand.
            let text = String(repeating: "~?>", count: number % 7) + String(repeating: "?", count: number)
            let jws = try forge.sign(Forge.transaction(["x": .string(text)]))
            seen.formUnion(jws.filter { "-_+/=".contains($0) })
            let verified = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: Forge.now)
            #expect(verified.bytes == Array(Forge.transaction(["x": .string(text)]).utf8))
            // Read with the wrong alphabet, it is no JWS.
            let wrong = jws.replacing("-", with: "+").replacing("_", with: "/")
            guard wrong != jws else { continue }
            let found = failure {
                _ = try verifier.verify(Array(wrong.utf8)[...], as: TransactionPayload.self, now: Forge.now)
            }
            #expect(found != nil)
        }
        #expect(seen == ["-", "_"])
    }
}
