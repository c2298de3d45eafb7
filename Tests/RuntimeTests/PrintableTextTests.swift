import Runtime
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        "\u{0}", "\u{7}", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{AD}", "\u{61C}", "\u{200B}", "\u{200E}",
        "\u{202A}",
        "\u{202E}", "\u{2028}", "\u{2029}", "\u{2066}", "\u{2069}", "\u{FEFF}", "\u{E000}", "\u{E0041}", "\u{FFFF}",
    ])
    func whatDrivesATerminalIsReplaced(_ text: String) {
        #expect("a\(text)b".printable() == "a\u{FFFD}b")
    }

    @Test(arguments: ["", "plain", "Grüße, “世界” … €", "عربى", "a\u{301}", "👍"])
    func whatPeopleReadStays(_ text: String) { #expect(text.printable() == text) }

    @Test func longTextIsCutShort() {
        #expect("abcdef".printable(limit: 3) == "abc…")
        #expect("abc".printable(limit: 3) == "abc")
    }
}
