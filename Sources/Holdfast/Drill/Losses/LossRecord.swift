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
    /// The lags of a stage, in rows for people and scripts; of changes whose notification fared so, or of all.
    func lags(_ stage: Scenario.Stage, _ fate: LagLedger.Fate? = nil) -> LagFigures? {
        LagFigures(
            losses.lags.filter { sample in
                self.stage(at: sample.at) == stage && fate.map { $0 == sample.fate } ?? true
            })
    }

    /// Each row of the table of lags.
    var lagRows: [(name: String, figures: LagFigures)] {
        var rows: [(String, LagFigures?)] = [("without loss", lags(.before)), ("with loss", lags(.during))]
        rows += LagLedger.Fate.allCases.map { ("  \($0.words)", lags(.during, $0)) }
        return rows.compactMap { name, figures in figures.map { (name, $0) } }
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
