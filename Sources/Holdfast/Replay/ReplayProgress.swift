import Glibc
import Runtime

/// Shows on standard error how far a long work is: on a terminal in one line that changes, elsewhere now and then.
final class ReplayProgress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let began = ContinuousClock.now
    private var shown = ContinuousClock.now
    private var hasLine = false

    func show(_ what: String, _ count: Int, share: Double) {
        let now = ContinuousClock.now
        guard now - shown >= (isTerminal ? .milliseconds(500) : .seconds(10)) else { return }
        shown = now
        let seconds = max(0.001, (now - began) / .seconds(1))
        let percent = Int(max(0, min(1, share)) * 100)
        let text = "\(what): \(count), \(Int(Double(count) / seconds)) a second, \(percent) %"
        Log.standardError(Array((isTerminal ? "\r\u{1B}[K\(text)" : "\(text)\n").utf8))
        hasLine = isTerminal
    }

    /// Makes room for what is said next.
    func end() {
        if hasLine { Log.standardError(Array("\r\u{1B}[K".utf8)) }
        hasLine = false
    }
}
