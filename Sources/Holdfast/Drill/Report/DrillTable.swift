import CacheTier
import Runtime

/// A drill in text: the lines of the timeline, the table by stage and what must hold.
enum DrillTable {
    static func time(_ seconds: Double) -> String { "\(fixed(seconds, 1)) s".leftPadded(to: 8) }

    /// One line of the timeline.
    static func line(at seconds: Double, _ tally: Tally) -> String {
        let levels = ServiceLevel.allCases.filter { tally.count($0) > 0 }
            .map { "\($0.rawValue) \(share(tally.count($0), of: tally.reads))" }.joined(separator: " ")
        let sources = tally.sources.sorted { $0.value > $1.value }.map {
            "\($0.key) \(share($0.value, of: tally.reads))"
        }
        .joined(separator: " ")
        let odd = ReadClass.allCases.filter { $0 != .right && tally.count($0) > 0 }
            .map { "\($0.rawValue) \(tally.count($0))" }.joined(separator: ", ")
        let untrue = tally.levelsUntrue > 0 ? " LEVEL UNTRUE \(tally.levelsUntrue)" : ""
        return "\(time(seconds))  \("\(tally.reads)".leftPadded(to: 4)) reads  p50 \(milliseconds(tally.latency(0.5)))"
            + "  p99 \(milliseconds(tally.latency(0.99)))  \(levels.padded(to: 12))  \(sources.padded(to: 24))  \(odd)\(untrue)"
    }

    /// The stages side by side.
    static func table(_ record: DrillRecord) -> String {
        let stages = Scenario.Stage.allCases
        let tallies = stages.map { record.stages[$0] ?? Tally() }
        var rows: [[String]] = [[""] + stages.map(\.rawValue)]
        func row(_ name: String, _ cell: (Tally) -> String) { rows.append([name] + tallies.map(cell)) }
        row("reads") { "\($0.reads)" }
        row("p50") { milliseconds($0.latency(0.5)) }
        row("p99") { milliseconds($0.latency(0.99)) }
        row("slowest") { milliseconds($0.latency(1)) }
        for level in ServiceLevel.allCases { row("level \(level.rawValue)") { "\($0.count(level))" } }
        for source in Set(tallies.flatMap(\.sources.keys)).sorted() {
            row("from \(source)") { "\($0.sources[source] ?? 0)" }
        }
        row("asked another gateway") { "\($0.failovers)" }
        for readClass in ReadClass.allCases { row(readClass.words) { "\($0.count(readClass))" } }
        row("level untrue") { "\($0.levelsUntrue)" }
        row("longest lag") { milliseconds($0.longestLag / .milliseconds(1)) }
        return aligned(rows)
    }

    /// How long changes took to show, and what Apple and others were asked and told.
    static func losses(_ record: DrillRecord) -> String {
        let rows = record.lagRows.map { name, figures in
            [name, "\(figures.count)"] + [figures.median, figures.percentile99, figures.worst].map(seconds)
        }
        let (calls, events) = (record.losses.calls, record.losses.events)
        let asked = calls.endpoints.map { endpoint in
            let odd = [
                ("refused", endpoint.refused), ("over the limit", endpoint.limited), ("failed", endpoint.failed),
            ]
            .filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
            let words = odd.isEmpty ? "" : " (\(odd.joined(separator: ", ")))"
            return "\(endpoint.calls) \(endpoint.name)\(words)"
        }.joined(separator: ", ")
        let busiest = calls.limits.map { "\($0.busiestSecond) of \($0.perSecond)" }.joined(separator: ", ")
        return aligned([["from the change to the read", "changes", "median", "99 of 100", "worst"]] + rows) + """


              calls to Apple: \(asked)
              in the busiest second: \(busiest); subscriptions asked about again within a second: \(calls.askedAgain)
              events: \(events.events), of which \(events.repeated) came again under the same id
            """
    }

    private static func seconds(_ duration: Duration) -> String { "\(fixed(duration / .seconds(1), 2)) s" }

    private static func aligned(_ rows: [[String]]) -> String {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            "  "
                + row.enumerated().map { column, cell in
                    column == 0 ? cell.padded(to: widths[0]) : cell.leftPadded(to: widths[column] + 2)
                }.joined()
        }.joined(separator: "\n")
    }

    /// What must hold, and what did not.
    static func verdict(_ record: DrillRecord) -> String {
        let width = record.claims.map(\.claim.count).max() ?? 0
        var lines = record.claims.map { claim in
            "  \(claim.holds ? "yes" : "NO ")  \(claim.claim.padded(to: width))  \(claim.figure)"
        }
        if !record.unfinished.isEmpty {
            lines.append("\n  not as it should be in the end:")
            lines += record.unfinished.prefix(DrillRecord.examplesKept).map { "    \($0)" }
        }
        for (title, found) in [
            ("lineages that are not what the store says", record.losses.differences),
            ("changes that did not show", record.losses.unseen),
        ] where !found.isEmpty {
            lines.append("\n  \(title):")
            lines += found.prefix(DrillRecord.examplesKept).map { "    \($0)" }
        }
        if !record.examples.isEmpty {
            lines.append("\n  the first wrong reads:")
            lines += record.examples.map {
                "    \(time($0.seconds))  gateway-\($0.gateway + 1)  \($0.customer)  \($0.what)"
            }
        }
        return lines.map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
            .flatMap { $0.map { String($0).printable(limit: 1000) } }.joined(separator: "\n")
    }

    private static func milliseconds(_ value: Double?) -> String {
        guard let value else { return "-" }
        return "\(fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0)) ms"
    }

    private static func share(_ count: Int, of all: Int) -> String {
        all == 0 ? "-" : "\(Int((Double(count) * 100 / Double(all)).rounded())) %"
    }

    /// `value` with so many digits behind the point.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "\(value)" }
        let power = (0..<digits).reduce(1) { whole, _ in whole * 10 }
        let scaled = Int((abs(value) * Double(power)).rounded())
        let fraction = String(scaled % power)
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(scaled)" }
        return "\(sign)\(scaled / power).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
    }
}
