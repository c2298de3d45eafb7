import JSON
import TestSupport
import Testing

@Suite struct JSONWriterTests {
    @Test func membersAndElementsAreSeparatedByCommas() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", "x\"\\\u{01}\n")
        writer.member("b", Int64?.none)
        writer.object("c") { $0.member("d", true) }
        writer.array("e", [1, 2]) { $0.integer($1) }
        writer.endObject()
        check(writer.text == #"{"a":"x\"\\\u0001\n","b":null,"c":{"d":true},"e":[1,2]}"#)
    }

    @Test func removingAMemberKeepsTheOthersInOrder() {
        var object = JSONObject()
        for key in ["a", "b", "c"] { object[key] = .string(key) }
        object["b"] = nil
        object["a"] = .null
        #expect(object.keys == ["a", "c"])
        #expect(object["c"] == .string("c"))
    }
}
