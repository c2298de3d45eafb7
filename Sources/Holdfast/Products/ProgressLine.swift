import Glibc
import Runtime

/// How far something is, on standard error: a line that rewrites itself on a terminal, else one line each tenth.
struct ProgressLine {
    private let what: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var shown = -1

    init(_ what: String) { self.what = what }

    mutating func show(_ fraction: Double, _ detail: String = "") {
        let percent = Int((min(1, max(0, fraction)) * 100).rounded(.down))
        let step = isTerminal ? percent : percent / 10
        guard step != shown || isTerminal && !detail.isEmpty else { return }
        shown = step
        let text = "\(what): \(percent) %\(detail.isEmpty ? "" : ", \(detail)")"
        Log.standardError(Array((isTerminal ? "\r\u{1B}[K\(text)" : "\(text)\n").utf8))
    }

    func clear() {
        if isTerminal, shown >= 0 { Log.standardError(Array("\r\u{1B}[K".utf8)) }
    }
}
