import Runtime
import Synchronization
import Testing

@Suite struct RareWarningTests {
    private final class Lines: Sendable {
        private let all = Mutex<[String]>([])
        var texts: [String] { all.withLock { $0 } }
        var sink: Log.Sink { { line in self.all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } } }
    }

    @Test func aFloodOfWarningsIsOneASecondWithACount() {
        let lines = Lines()
        let warning = RareWarning("it failed", log: Log(part: "test", sink: lines.sink))
        let start = ContinuousClock.now
        for millisecond in 0..<2500 {
            warning.warn(at: start + .milliseconds(millisecond)) { ["number": .init(millisecond), "times": $0] }
        }
        let texts = lines.texts
        #expect(texts.count == 3)
        let endings = [#""number":0,"times":1}"#, #""number":1000,"times":1000}"#, #""number":2000,"times":1000}"#]
        for (text, ending) in zip(texts, endings) { #expect(text.hasSuffix(ending + "\n"), "\(text)") }
    }

    @Test func aWarningAfterAQuietWhileIsToldAtOnce() {
        let lines = Lines()
        let warning = RareWarning("it failed", log: Log(part: "test", sink: lines.sink))
        let start = ContinuousClock.now
        warning.warn(at: start) { ["times": $0] }
        warning.warn(at: start + .seconds(60)) { ["times": $0] }
        let texts = lines.texts
        #expect(texts.count == 2)
    }
}
