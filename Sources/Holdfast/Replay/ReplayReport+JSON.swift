import CacheTier
import Consumer
import Entitlements
import JSON
import Replay
import Time

extension ReplayReport {
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        source.write(to: &json)
        json.member("messages", tally.messages)
        json.member("news", tally.news)
        json.object("noted") { json in
            for (type, count) in tally.noted.sorted(by: { $0.key < $1.key }) { json.member(type, count) }
        }
        json.object("notApplicable") { json in
            for (code, count) in tally.refusedByReason.sorted(by: { $0.key < $1.key }) { json.member(code, count) }
        }
        json.array("notApplicableMessages", tally.refused) { json, refused in
            json.beginObject()
            json.member("place", refused.place.description)
            json.member("app", refused.app)
            json.member("messageId", refused.messageID)
            json.member("receivedAt", refused.receivedAt?.rfc3339)
            json.member("reason", refused.refusal.code)
            json.member("detail", refused.refusal.sentence)
            json.endObject()
        }
        json.member("refusedClaims", tally.refusedClaims)
        json.member("leftOut", tally.leftOut)
        json.member("undated", tally.undated)
        json.member("interrupted", tally.isInterrupted)
        if let lineages { json.member("lineages", lineages) }
        writeOutcome(to: &json)
        json.endObject()
        return json.text
    }

    /// For an explanation: until when what was known counts, when the ledger begins, and which product map counted.
    func writeKnowledge(to json: inout JSONWriter) {
        guard case .explained(let instant, let map) = outcome else { return }
        json.member("asKnownAt", instant?.rfc3339)
        json.member("ledgerBegins", source.begins?.rfc3339)
        json.object("productMap") { json in
            json.member("version", map.facts.map { Int64(clamping: $0.version) })
            json.member("publishedAt", map.facts?.publishedAt.rfc3339)
            json.member("says", map.sentence)
        }
    }

    private func writeOutcome(to json: inout JSONWriter) {
        switch outcome {
        case .live(let report): json.object("live") { json in Self.write(report, to: &json) }
        case .state(let path, let result): json.object("state") { json in Self.write(result, path, to: &json) }
        case .written(let path): json.member("written", path)
        case .explained: break
        case .applied(let report):
            json.object("applied") { json in
                json.member("changed", report.changed)
                json.member("unchanged", report.unchanged)
                json.object("unreadable") { json in
                    for (id, reason) in report.unreadable.sorted(by: { $0.key < $1.key }) { json.member(id, reason) }
                }
            }
        case .exported(let path): json.member("exported", path)
        case .interrupted(let consequence): json.member("consequence", consequence)
        }
    }

    private static func write(_ report: ComparisonReport, to json: inout JSONWriter) {
        json.member("compared", report.compared)
        json.member("equal", report.equal)
        json.member("different", report.differing)
        for kind in LineageDifference.Kind.allCases { json.member(kind.rawValue, report.counts[kind] ?? 0) }
        json.member("olderThanLedger", report.olderThanLedger)
        json.member("answeredDifferently", report.answeredDifferently)
        json.member("waiting", report.waiting)
        json.member("unsettled", report.unsettled)
        json.member("interrupted", report.isInterrupted)
        json.array("differences", report.differences) { json, difference in
            json.beginObject()
            write(difference.lineage, to: &json)
            json.member("kind", difference.kind.rawValue)
            json.member("liveLacks", difference.liveLacks)
            json.member("liveHasMore", difference.liveHasMore)
            json.member("detail", difference.detail)
            write("members", difference.members, "ledger", "live", to: &json)
            write("answers", difference.evaluation, "ledger", "live", to: &json)
            json.endObject()
        }
    }

    private static func write(_ result: StateFile.Comparison, _ path: String, to json: inout JSONWriter) {
        json.member("file", path)
        json.member("compared", result.compared)
        json.member("equal", result.equal)
        json.member("differs", result.differs)
        json.member("onlyHere", result.onlyHere)
        json.member("onlyThere", result.onlyThere)
        json.member("answeredDifferently", result.answeredDifferently)
        json.array("differences", result.differences) { json, difference in
            json.beginObject()
            write(difference.lineage, to: &json)
            json.member("only", difference.isOnlyHere.map { $0 ? "here" : "there" })
            write("members", difference.members, "here", "there", to: &json)
            write("answers", difference.evaluation, "here", "there", to: &json)
            json.endObject()
        }
    }

    private static func write(_ lineage: LineageID, to json: inout JSONWriter) {
        json.member("app", lineage.app.rawValue)
        json.member("environment", lineage.environment.rawValue)
        json.member("originalTransactionId", lineage.originalTransactionID)
    }

    private static func write(
        _ name: String, _ differences: [MemberDifference], _ mine: String, _ theirs: String, to json: inout JSONWriter
    ) {
        json.array(name, differences) { json, difference in
            json.beginObject()
            json.member("fact", difference.fact)
            json.member("member", difference.member)
            json.member(mine, difference.mine ?? .null)
            json.member(theirs, difference.theirs ?? .null)
            json.endObject()
        }
    }
}
