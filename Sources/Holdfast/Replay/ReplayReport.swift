import Consumer
import Entitlements
import JSON
import Replay
import Time

/// What a replay says at its end.
struct ReplayReport {
    enum Outcome {
        case live(ComparisonReport)
        case state(String, StateFile.Comparison)
        case written(String)
        case explained(asKnownAt: Timestamp?, HistoricMap)
        case applied(Applier.Report)
        case exported(String)
        case interrupted(String)
    }

    let tally: ReplayTally
    let source: SourceView
    let outcome: Outcome
    let lineages: Int?

    // MARK: Text

    var text: String {
        ([source.text] + messages + result).joined(separator: "\n")
    }

    private var messages: [String] {
        if case .exported = outcome { return [] }
        var lines = [
            "\(tally.messages) messages: \(tally.news) about subscriptions and purchases, "
                + "\(tally.notedCount) without effect on any, \(tally.refusedCount) that cannot be applied"
                + (tally.leftOut > 0 ? ", \(tally.leftOut) left out as not asked for." : ".")
        ]
        if tally.refusedClaims > 0 { lines.append("\(tally.refusedClaims) claims that were refused: nothing to fold.") }
        if tally.undated > 0 {
            lines.append("\(tally.undated) do not say when they were received and were judged by today's date.")
        }
        for (reason, count) in tally.refusedByReason.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(reason): \(count)")
            for refused in tally.refused.lazy.filter({ $0.refusal.code == reason }).prefix(5) {
                lines.append(
                    "    \(refused.place), app \(Console.printable(refused.app)), message id "
                        + "\(Console.printable(refused.messageID)): \(Console.printable(refused.refusal.sentence))")
            }
        }
        if let lineages { lines.append("Folded into \(lineages) lineages.") }
        return lines
    }

    private var result: [String] {
        switch outcome {
        case .live(let report): liveText(report)
        case .state(let path, let result): stateText(path, result)
        case .written(let path): ["Written to \(path)."]
        case .explained(let instant, let map): knowledge(instant, map)
        case .applied(let report):
            [
                (tally.isInterrupted ? "Interrupted; applied so far" : "Applied")
                    + ": \(report.changed) changed the live state, \(report.unchanged) were known there."
            ]
                + report.unreadable.sorted { $0.key < $1.key }.map {
                    "  not applied to \(Console.printable($0.key)): \(Console.printable($0.value))"
                }
        case .exported(let path): ["\(tally.messages) messages written to \(path)."]
        case .interrupted(let consequence): ["Interrupted: \(consequence)."]
        }
    }

    private func knowledge(_ instant: Timestamp?, _ map: HistoricMap) -> [String] {
        guard let instant, let begins = source.begins, instant < begins, tally.news == 0 else {
            return [
                "This is what was known" + (instant.map { " at \($0.rfc3339)." } ?? " at the end of what was read."),
                map.sentence,
            ]
        }
        let why = source.isCut ? "what came before was removed by its retention" : "nothing had come in here by then"
        return [
            "The ledger begins at \(begins.rfc3339), later than \(instant.rfc3339): \(why), so that it cannot say what a "
                + "customer had.",
            map.sentence,
        ]
    }

    private func liveText(_ report: ComparisonReport) -> [String] {
        var lines: [String] = []
        if report.isInterrupted { lines.append("Interrupted: not all was compared.") }
        if report.differing == 0 {
            lines.append("Compared with Redis: \(report.equal) of \(report.compared) lineages are equal, none differ.")
        } else {
            let kinds = LineageDifference.Kind.allCases.compactMap { kind in
                report.counts[kind].map { "\(kind.phrase) \($0)" }
            }
            lines.append(
                "Compared with Redis: \(report.equal) of \(report.compared) lineages are equal, \(report.differing) are not "
                    + "(\(kinds.joined(separator: ", "))); \(report.answeredDifferently) are answered differently.")
        }
        if report.olderThanLedger > 0 {
            lines.append(
                "\(report.olderThanLedger) have facts in Redis that were signed before what was read begins; "
                    + "they are not counted as different.")
        }
        if report.waiting > 0 {
            lines.append("\(report.waiting) messages wait to be applied: what Redis lacks may be in them.")
        }
        if report.unsettled > 0 {
            lines.append("\(report.unsettled) went on changing for as long as they were looked at.")
        }
        for difference in report.differences { lines += [""] + text(of: difference) }
        if report.differences.count < report.differing {
            lines += ["", "The first \(report.differences.count) are shown (--limit)."]
        }
        return lines
    }

    private func text(of difference: LineageDifference) -> [String] {
        var what = difference.kind.phrase
        if difference.kind == .differs {
            what +=
                difference.liveLacks
                ? difference.liveHasMore ? ": each has what the other lacks" : ": Redis lacks what the ledger has"
                : ": Redis has what the ledger lacks"
        }
        return ["\(name(difference.lineage))  \(what)"]
            + (difference.detail.map { ["  \(Console.printable($0))"] } ?? [])
            + members(difference.members, "ledger", "Redis") + members(difference.evaluation, "ledger", "Redis")
    }

    private func stateText(_ path: String, _ result: StateFile.Comparison) -> [String] {
        var lines = [
            "Compared with \(path): \(result.equal) of \(result.compared) lineages are equal, \(result.differs) differ, "
                + "\(result.onlyHere) are here only, \(result.onlyThere) there only; "
                + "\(result.answeredDifferently) are answered differently."
        ]
        for difference in result.differences {
            let what = difference.isOnlyHere.map { $0 ? "here only" : "there only" } ?? "differs"
            lines += ["", "\(name(difference.lineage))  \(what)"]
            lines += members(difference.members, "here", "there") + members(difference.evaluation, "here", "there")
        }
        if result.differences.count < result.count {
            lines += ["", "The first \(result.differences.count) are shown (--limit)."]
        }
        return lines
    }

    private func members(_ differences: [MemberDifference], _ mine: String, _ theirs: String) -> [String] {
        differences.map { difference in
            let member = difference.member.map { " \($0)" } ?? ""
            return Console.printable(
                "  \(difference.fact)\(member): \(mine) \(difference.mine?.text ?? "-"), "
                    + "\(theirs) \(difference.theirs?.text ?? "-")")
        }
    }

    private func name(_ lineage: LineageID) -> String {
        Console.printable("\(lineage.app) \(lineage.environment.rawValue) \(lineage.originalTransactionID)")
    }
}

extension LineageDifference.Kind {
    var phrase: String {
        switch self {
        case .differs: "differs"
        case .onlyInLedger: "only in the ledger"
        case .onlyLive: "only in Redis"
        case .misplaced: "in the wrong place"
        case .stray: "stray copy"
        case .unreadable: "unreadable"
        }
    }
}
