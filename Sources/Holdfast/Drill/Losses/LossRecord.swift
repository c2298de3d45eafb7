import Time

/// What the drill of losses has measured beside its reads.
struct LossRecord: Sendable {
    var lags: [LagLedger.Sample] = []
    /// Changes that no answer has shown in the end.
    var unseen: [String] = []
    var lineages = 0
    /// Lineages that are not what the store says in the end.
    var differences: [String] = []
    var calls = CallFigures()
    var events = EventLedger()
    /// How often a consumer was to be killed while Apple was asked, and nobody asked.
    var sweepsMissed = 0
}

extension DrillRecord {
    /// Each row of the table of lags.
    var lagRows: [(name: String, figures: LagFigures)] {
        let with = losses.lags.filter { stage(at: $0.at) == .during }
        let quiet = with.filter { !isDisturbed($0) }
        var rows: [(String, LagFigures?)] = [
            ("without loss", LagFigures(losses.lags.filter { stage(at: $0.at) == .before })),
            ("with loss", LagFigures(with)),
        ]
        rows += LagLedger.Fate.allCases.map { fate in
            ("  \(fate.words)", LagFigures(quiet.filter { $0.fate == fate }))
        }
        rows.append(("  Apple dark or a consumer killed meanwhile", LagFigures(with.filter(isDisturbed))))
        return rows.compactMap { name, figures in figures.map { (name, $0) } }
    }

    /// Whether Apple was dark, or a consumer away, while the change had not shown.
    private func isDisturbed(_ sample: LagLedger.Sample) -> Bool {
        let (from, to) = (seconds(sample.at), seconds(sample.at + sample.lag))
        return spans.contains { $0.name != Faults.Part.news.name && $0.from <= to && from <= $0.to }
    }

    var lossClaims: [(claim: String, holds: Bool, figure: String)] {
        [
            (
                "every lineage as in the store in the end", losses.lineages > 0 && losses.differences.isEmpty,
                "\(losses.lineages) of which \(losses.differences.count) differ"
            ),
            (
                "every change showed", !losses.lags.isEmpty && losses.unseen.isEmpty,
                "\(losses.lags.count), and \(losses.unseen.count) did not"
            ),
            (
                "Apple's limits kept", losses.calls.calls > 0 && losses.calls.areLimitsKept,
                losses.calls.limits.map {
                    "at most \($0.busiestTenSeconds) of \(10 * $0.perSecond) calls in ten seconds"
                }
                .joined(separator: ", ")
            ),
            (
                "consumers killed while they asked Apple", losses.sweepsMissed == 0,
                losses.sweepsMissed == 0 ? "" : "\(losses.sweepsMissed) times nobody asked"
            ),
            (
                "no change told twice", losses.events.events > 0 && losses.events.changesRepeated.isEmpty,
                "\(losses.events.changesRepeated.count) of \(losses.events.ids)"
            ),
        ]
    }
}
