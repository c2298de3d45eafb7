import CacheTier
import Glibc

/// A drill as an SVG: the outages, the latency of reads, their levels, and what was not simply right. It follows the
/// reader's light or dark theme.
struct DrillPlot {
    private static let width = 960.0
    private static let left = 74.0
    private static let right = 944.0

    private let record: DrillRecord
    private let from: Double
    private let to: Double

    init(_ record: DrillRecord) {
        self.record = record
        from = record.begin(of: .before) ?? 0
        to = max(from + 1, record.end)
    }

    private var parts: [String] {
        record.spans.reduce(into: []) { names, span in if !names.contains(span.name) { names.append(span.name) } }
    }

    var svg: String {
        let strips = Double(parts.count) * 20
        let latency = Panel(top: 78 + strips, bottom: 228 + strips)
        let levels = Panel(top: 262 + strips, bottom: 322 + strips)
        let odd = Panel(top: 356 + strips, bottom: 426 + strips)
        let height = odd.bottom + 44
        var body = heading
        body += outages(stripsTop: 56, panels: [latency, levels, odd])
        body += self.latency(in: latency)
        body += self.levels(in: levels)
        body += self.odd(in: odd)
        body += axis(at: odd.bottom)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 \(Self.number(height))" role="img" \
            aria-label="\(record.scenario): read latency, service levels and wrong answers over time">
            <style>
            svg{background:#fff} text{font:12px Helvetica,Arial,sans-serif;fill:#5b6878}
            .t{font-size:16px} .t,.h{font-weight:bold;fill:#1d2733} .r{text-anchor:end} .m{text-anchor:middle}
            .g{stroke:#d5dbe3;stroke-width:1} .out{fill:#c98a1b;opacity:.12} .strip{fill:#c98a1b;opacity:.8}
            .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
            .p50{stroke:#2f6fc4} .p99{stroke:#8b5fbf} rect.p50{fill:#2f6fc4;stroke:none} rect.p99{fill:#8b5fbf;stroke:none}
            .S{fill:#3f9d6a} .A{fill:#e0a526} .B{fill:#d0603a} .allowed{fill:#9fb0c3} .wrong{fill:#c0182b}
            @media(prefers-color-scheme:dark){
            svg{background:#0d1117} text{fill:#9aa7b5} .t,.h{fill:#e6edf3} .g{stroke:#2b3440} .out,.strip{fill:#d9a441}
            .p50{stroke:#6ea8fe} .p99{stroke:#c29bf0} rect.p50{fill:#6ea8fe} rect.p99{fill:#c29bf0}
            .S{fill:#3a8f60} .A{fill:#c9952a} .B{fill:#c25a38} .allowed{fill:#5a6b7e} .wrong{fill:#ff5a68}}
            </style>
            \(body.joined(separator: "\n"))
            </svg>

            """
    }

    // MARK: Pieces

    private struct Panel {
        let top: Double
        let bottom: Double
        var height: Double { bottom - top }
    }

    private var heading: [String] {
        let total = record.total
        let recovery = record.recovery.map { ", all right again \(DrillRecord.text($0)) after the last mending" } ?? ""
        return [
            text(16, 26, "t", "holdfast drill \(record.scenario)"),
            text(
                16, 44, "",
                "\(total.reads) reads of \(record.accounts) customers: \(total.wrong) wrong or failed\(recovery)"),
        ]
    }

    private func outages(stripsTop: Double, panels: [Panel]) -> [String] {
        var drawn: [String] = []
        for (row, part) in parts.enumerated() {
            let top = stripsTop + Double(row) * 20
            drawn.append(text(Self.left - 8, top + 13, "r", part))
            for span in record.spans where span.name == part {
                let (x, w) = (x(span.from), max(2, x(span.to) - x(span.from)))
                drawn.append(rectangle(x, top + 3, w, 14, "strip"))
                for panel in panels { drawn.append(rectangle(x, panel.top, w, panel.height, "out")) }
            }
        }
        return drawn
    }

    /// Logarithmic, from a tenth of a millisecond to a second or what it takes.
    private func latency(in panel: Panel) -> [String] {
        var drawn = [text(Self.left, panel.top - 8, "h", "read latency")]
        drawn += legend(at: panel.top - 8, [("p50", "p50"), ("p99", "p99")])
        func y(_ milliseconds: Double) -> Double {
            let decades = log10(min(max(milliseconds, 0.1), 10_000)) + 1
            return panel.bottom - decades / 5 * panel.height
        }
        for (value, label) in [
            (0.1, "0.1 ms"), (1, "1 ms"), (10, "10 ms"), (100, "100 ms"), (1000, "1 s"), (10_000, "10 s"),
        ] {
            drawn.append(horizontal(y(value)))
            drawn.append(text(Self.left - 8, y(value) + 4, "r", label))
        }
        for (share, name) in [(0.99, "p99"), (0.5, "p50")] {
            let points = shown.compactMap { second, tally in
                tally.latency(share).map { "\(Self.number(x(Double(second) + 0.5))),\(Self.number(y($0)))" }
            }
            drawn.append(#"<polyline class="line \#(name)" points="\#(points.joined(separator: " "))"/>"#)
        }
        return drawn
    }

    /// The share of answers at each level, second by second.
    private func levels(in panel: Panel) -> [String] {
        var drawn = [text(Self.left, panel.top - 8, "h", "service level of the answers")]
        let levels = ServiceLevel.allCases
        drawn += legend(at: panel.top - 8, levels.map { ($0.rawValue, $0.rawValue) })
        for (second, tally) in shown {
            let all = levels.map(tally.count).reduce(0, +)
            guard all > 0 else { continue }
            var bottom = panel.bottom
            for level in levels where tally.count(level) > 0 {
                let height = panel.height * Double(tally.count(level)) / Double(all)
                bottom -= height
                drawn.append(bar(second, bottom, height, level.rawValue))
            }
        }
        return drawn
    }

    /// What was not simply right, second by second; what is wrong is drawn on top of it.
    private func odd(in panel: Panel) -> [String] {
        var drawn = [text(Self.left, panel.top - 8, "h", "answers that were not simply right")]
        drawn += legend(
            at: panel.top - 8,
            [("stale, held or not known now, as allowed", "allowed"), ("wrong or failed", "wrong")])
        let allowed: [ReadClass] = [.stale, .held, .unknownCustomer]
        let counts = shown.map { second, tally in
            (second, allowed: allowed.map(tally.count).reduce(0, +), wrong: tally.wrong, reads: tally.reads)
        }
        let most = Double(max(10, counts.map { $0.allowed + $0.wrong }.max() ?? 0))
        for (value, label) in [(0.0, "0"), (most, "\(Int(most))/s")] {
            let y = panel.bottom - value / most * panel.height
            drawn.append(horizontal(y))
            drawn.append(text(Self.left - 8, y + 4, "r", label))
        }
        for count in counts {
            let allowed = Double(count.allowed) / most * panel.height
            let wrong = Double(count.wrong) / most * panel.height
            if allowed > 0 { drawn.append(bar(count.0, panel.bottom - allowed, allowed, "allowed")) }
            if wrong > 0 { drawn.append(bar(count.0, panel.bottom - allowed - wrong, max(2, wrong), "wrong")) }
        }
        return drawn
    }

    private func axis(at bottom: Double) -> [String] {
        let length = to - from
        let step = [5.0, 10, 20, 30, 60, 120, 300].first { length / $0 <= 12 } ?? 600
        var drawn: [String] = []
        var second = 0.0
        while second <= length {
            let label = second == 0 ? "0 s" : "\(Int(second)) s"
            drawn.append(text(x(from + second), bottom + 18, "m", label))
            second += step
        }
        for stage in Scenario.Stage.allCases {
            guard let begin = record.begin(of: stage) else { continue }
            drawn.append(
                #"<path class="g" d="M\#(Self.number(x(begin))) \#(Self.number(bottom + 24)) v14"/>"#)
            drawn.append(text(x(begin) + 4, bottom + 36, "", stage.rawValue))
        }
        return drawn
    }

    // MARK: Drawing

    private var shown: [(key: Int, value: Tally)] {
        record.seconds.filter { Double($0.key) + 0.5 >= from && Double($0.key) <= to }.sorted { $0.key < $1.key }
    }

    private func x(_ second: Double) -> Double {
        Self.left + (min(max(second, from), to) - from) / (to - from) * (Self.right - Self.left)
    }

    private func bar(_ second: Int, _ top: Double, _ height: Double, _ name: String) -> String {
        let begin = x(Double(second))
        let width = x(Double(second) + 1) - begin + 0.3
        return rectangle(begin, top, width, height, name)
    }

    private func rectangle(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ name: String) -> String {
        #"<rect class="\#(name)" x="\#(Self.number(x))" y="\#(Self.number(y))" width="\#(Self.number(width))" "#
            + #"height="\#(Self.number(height))"/>"#
    }

    private func horizontal(_ y: Double) -> String {
        #"<path class="g" d="M\#(Self.number(Self.left)) \#(Self.number(y)) H\#(Self.number(Self.right))"/>"#
    }

    /// From the right.
    private func legend(at y: Double, _ entries: [(String, String)]) -> [String] {
        var x = Self.right
        var drawn: [String] = []
        for (name, style) in entries.reversed() {
            drawn.append(text(x, y, "r", name))
            x -= Double(name.count) * 5.6 + 16
            drawn.append(rectangle(x, y - 10, 11, 11, style))
            x -= 12
        }
        return drawn
    }

    private func text(_ x: Double, _ y: Double, _ name: String, _ text: String) -> String {
        let safe = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return #"<text class="\#(name)" x="\#(Self.number(x))" y="\#(Self.number(y))">\#(safe)</text>"#
    }

    private static func number(_ value: Double) -> String { DrillTable.fixed(value, 1) }
}
