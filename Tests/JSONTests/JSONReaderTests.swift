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

    // Strings are looked at eight bytes at a time: what matters may stand anywhere in such a group, or beyond the last.

    /// What is wrong with a text; those who read it and those who skip it must agree.
    private func problem(_ bytes: [UInt8]) -> JSONError.Code? {
        func code(_ read: (inout JSONReader) throws(JSONError) -> Void) -> JSONError.Code? {
            var reader = JSONReader(bytes)
            do throws(JSONError) { try read(&reader) } catch { return error.code }
            return nil
        }
        let read = code { (reader) throws(JSONError) in _ = try reader.readValue() }
        let skipped = code { (reader) throws(JSONError) in try reader.skip() }
        #expect(read == skipped)
        return read
    }

    @Test(arguments: 0..<40) func aStringEndsWhereItEndsAtEveryOffset(length: Int) throws {
        let plain = String((0..<length).map { Character(Unicode.Scalar(UInt8(0x21 + $0 % 90))) })
            .replacing("\"", with: "'").replacing("\\", with: "/")
        for (written, meant) in [
            ("", ""), (#"\n"#, "\n"), (#"\""#, "\""), (#"\\"#, "\\"), ("é", "é"), ("😀", "😀"), ("\u{7F}", "\u{7F}"),
            (#"\u00e9"#, "é"), ("é\\t", "é\t"),
        ] {
            #expect(try parse("[\"\(plain)\(written)\"]") == .array([.string(plain + meant)]))
            #expect(try parse("[\"\(written)\(plain)\",1]").array?.first == .string(meant + plain))
            #expect(try parse("{\"\(plain)\(written)\":1}").object?.keys == [plain + meant])
        }
        for byte in UInt8(0)..<0x20 {
            let bytes = Array("\"\(plain)".utf8) + [byte] + Array("abcdefghijk\"".utf8)
            #expect(problem(bytes) == .controlCharacter)
        }
        for broken: [UInt8] in [
            [0x80], [0xC3], [0xC3, 0x28], [0xFF], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF5, 0x80],
        ] {
            let bytes = Array("{\"a\":\"\(plain)".utf8) + broken + Array("\"}".utf8)
            #expect(problem(bytes) == .invalidUTF8)
            let escaped = Array("\"\\n\(plain)".utf8) + broken + Array("\"".utf8)
            #expect(problem(escaped) == .invalidUTF8)
            let key = Array("{\"\(plain)".utf8) + broken + Array("\":1}".utf8)
            #expect(problem(key) == .invalidUTF8)
        }
        #expect(problem(Array("\"\(plain)".utf8)) == .unexpectedEnd)
        #expect(problem(Array("\"\(plain)\\".utf8)) == .unexpectedEnd)
    }

    @Test func keysAreTheSameHoweverTheyAreWritten() throws {
        let pairs = [
            (#"{"key":1,"k\u0065y":2}"#, true), (#"{"é":1,"\u00e9":2}"#, true), ("{\"\u{e9}\":1,\"e\u{301}\":2}", true),
            ("{\"K\":1,\"\u{212A}\":2}", true), ("{\"\u{212A}\":1,\"K\":2}", true), (#"{"":1,"":2}"#, true),
            (#"{"key":1,"kez":2,"ke":3,"kexy":4}"#, false), (#"{"a":{"a":{"a":1}},"b":{"a":1}}"#, false),
        ]
        for (text, repeats) in pairs {
            #expect(problem(Array(text.utf8)) == (repeats ? .duplicateKey : nil), "\(text)")
        }
    }

    @Test func aKeyIsComparedWithLiterals() throws {
        var seen: [String] = []
        var reader = JSONReader(Array(#"{"status":1,"st\u0061te":2,"":3,"statu":4,"statuses":5,"é":6}"#.utf8))
        try reader.readObject { (reader, key) throws(JSONError) in
            switch key {
            case "status": seen.append("is status")
            case "state": seen.append("is state")
            case "": seen.append("is empty")
            case "é": seen.append("is é")
            default: seen.append(key.description)
            }
            try reader.skip()
        }
        #expect(seen == ["is status", "is state", "is empty", "statu", "statuses", "is é"])
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
