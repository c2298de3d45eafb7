import JSON
import Testing

@Suite struct JSONReaderTests {
    private func parse(_ text: String) throws(JSONError) -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

    @Test(arguments: [
        #"{"a":1,"b":[true,false,null,"x"],"c":{"d":-1.5e3}}"#, "[]", "{}", #""""#, "0", "-0.1", "1E+2",
        #"["\"\\\/\b\f\n\r\t"]"#,
    ])
    func validTextIsReadAndWrittenBackWithTheSameMeaning(_ text: String) throws {
        let value = try parse(text)
        var writer = JSONWriter()
        writer.value(value)
        #expect(try JSONValue.parse(writer.bytes) == value)
    }

    @Test(arguments: [
        ("", JSONError.Code.unexpectedEnd), ("{", .unexpectedEnd), (#"{"a"}"#, .unexpectedByte),
        (#"{"a":1,}"#, .unexpectedByte), ("[1,]", .unexpectedByte), ("[1 2]", .unexpectedByte), ("01", .invalidNumber),
        ("1.", .invalidNumber), ("-", .invalidNumber), ("1e", .invalidNumber), ("tru", .unexpectedByte),
        ("nul", .unexpectedByte), ("1 1", .trailingBytes), ("\"a", .unexpectedEnd), ("\"\u{01}\"", .controlCharacter),
        (#""\x""#, .invalidEscape), (#""\ud800""#, .invalidEscape), (#""\ud800\u0041""#, .invalidEscape),
        (#""\u12g4""#, .invalidEscape), (#"{"a":1,"a":2}"#, .duplicateKey), (#"{"a":1,"\u0061":2}"#, .duplicateKey),
        ("NaN", .unexpectedByte), ("'a'", .unexpectedByte), ("+1", .unexpectedByte),
    ])
    func whatIsNotJSONIsRefusedWithItsReason(_ text: String, _ code: JSONError.Code) {
        let error = #expect(throws: JSONError.self) { try parse(text) }
        #expect(error?.code == code)
    }

    @Test func invalidUTF8IsRefused() {
        let error = #expect(throws: JSONError.self) { try JSONValue.parse([0x22, 0xC3, 0x28, 0x22]) }
        #expect(error?.code == .invalidUTF8)
    }

    @Test func escapesBecomeTheirCharacters() throws {
        #expect(try parse(#""\u00e9\ud83d\ude00\n""#).string == "é😀\n")
    }

    @Test func nestingIsBoundedInsteadOfTheStackRunningOut() throws {
        let deep = String(repeating: "[", count: 100_000)
        let error = #expect(throws: JSONError.self) { try parse(deep) }
        #expect(error?.code == .tooDeep)
        #expect(throws: Never.self) {
            try parse(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
        }
    }

    @Test func duplicateKeysAreFoundAmongManyToo() throws {
        let many = (0..<1000).map { #""k\#($0)":0"# }.joined(separator: ",")
        #expect(throws: Never.self) { try parse("{\(many)}") }
        let error = #expect(throws: JSONError.self) { try parse(#"{\#(many),"k999":1}"#) }
        #expect(error?.code == .duplicateKey)
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max as Int64?), ("9223372036854775808", nil), ("1.5", nil), ("3.0", 3),
        ("3e2", 300), ("1e400", nil), ("-7", -7),
    ])
    func aNumberIsAnIntegerOnlyWhenItIsOneAndFits(_ text: String, _ expected: Int64?) throws {
        #expect(try parse(text).int64 == expected)
        #expect(try parse(text).number?.text == text)
    }

    @Test func aReaderSkipsWhatItIsNotAskedFor() throws {
        var reader = JSONReader(Array(#"{"skip":{"deep":[1,{"x":"]"}]},"want":"here"}"#.utf8))
        var found = ""
        try reader.readObject { (reader, key) throws(JSONError) in
            if key == "want" { found = try reader.readString() } else { try reader.skip() }
        }
        try reader.finish()
        #expect(found == "here")
    }

    @Test func mutatedTextNeverCrashesTheReader() {
        let seed = UInt64.random(in: .min ... .max)
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        let original = Array(#"{"a":[1,-2.5e10,"x\u00e9\n"],"b":{"c":true,"d":null},"e":"é"}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = original
            for _ in 0...(next() % 3) { bytes[Int(next()) % bytes.count] = UInt8(truncatingIfNeeded: next()) }
            guard let value = try? JSONValue.parse(bytes) else { continue }
            var writer = JSONWriter()
            writer.value(value)
            #expect((try? JSONValue.parse(writer.bytes)) == value, "seed \(seed)")
        }
    }
}
