import CacheTier
import JSON
import Time

extension DrillRecord {
    /// For scripts: the verdict, the stages, every second.
    var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 64 << 10)
        json.beginObject()
        json.member("drill", scenario)
        json.member("fine", isFine)
        json.member("began", began.rfc3339)
        json.number("seconds", end)
        json.member("accounts", accounts)
        json.member("changes", changes)
        json.number("recoverySeconds", recovery.map { $0 / .seconds(1) })
        json.array("claims", claims) { json, claim in
            json.beginObject()
            json.member("claim", claim.claim)
            json.member("holds", claim.holds)
            json.member("figure", claim.figure)
            json.endObject()
        }
        json.array("unfinished", unfinished) { $0.string($1) }
        json.array("examples", examples) { json, wrong in
            json.beginObject()
            json.number("at", wrong.seconds)
            json.member("customer", wrong.customer)
            json.member("gateway", wrong.gateway + 1)
            json.member("what", wrong.what)
            json.endObject()
        }
        json.object("stages") { json in
            for stage in Scenario.Stage.allCases {
                json.object(stage.rawValue) { json in (stages[stage] ?? Tally()).write(to: &json) }
            }
        }
        json.array("outages", spans) { json, span in
            json.beginObject()
            json.member("part", span.name)
            json.number("from", span.from)
            json.number("to", span.to)
            json.endObject()
        }
        json.array("happenings", happenings) { json, happening in
            json.beginObject()
            json.number("at", happening.seconds)
            json.member("what", happening.text)
            json.endObject()
        }
        if isExact { json.object("losses") { write(losses, to: &$0) } }
        json.array("timeline", seconds.sorted { $0.key < $1.key }) { json, second in
            json.beginObject()
            json.member("second", second.key)
            second.value.write(to: &json)
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }

    private func write(_ losses: LossRecord, to json: inout JSONWriter) {
        json.array("lags", lagRows) { json, row in
            json.beginObject()
            json.member("of", row.name.trimmed)
            json.member("changes", row.figures.count)
            json.number("medianSeconds", row.figures.median / .seconds(1))
            json.number("p99Seconds", row.figures.percentile99 / .seconds(1))
            json.number("worstSeconds", row.figures.worst / .seconds(1))
            json.endObject()
        }
        json.object("fates") { json in
            for fate in LagLedger.Fate.allCases {
                json.member(fate.rawValue, losses.lags.filter { $0.fate == fate }.count)
            }
        }
        json.array("unseen", losses.unseen) { $0.string($1) }
        json.member("lineages", losses.lineages)
        json.array("differences", losses.differences) { $0.string($1) }
        json.array("calls", losses.calls.endpoints) { json, endpoint in
            json.beginObject()
            json.member("endpoint", endpoint.name)
            json.member("answered", endpoint.answered)
            json.member("limited", endpoint.limited)
            json.member("refused", endpoint.refused)
            json.member("failed", endpoint.failed)
            json.endObject()
        }
        json.array("limits", losses.calls.limits) { json, limit in
            json.beginObject()
            json.member("perSecond", limit.perSecond)
            json.member("busiestSecond", limit.busiestSecond)
            json.member("busiestTenSeconds", limit.busiestTenSeconds)
            json.endObject()
        }
        json.member("askedAgain", losses.calls.askedAgain)
        json.object("events") { json in
            json.member("told", losses.events.events)
            json.member("ids", losses.events.ids)
            json.member("repeated", losses.events.repeated)
            json.array("changesRepeated", losses.events.changesRepeated) { $0.string($1) }
            json.object("kinds") { json in
                for (kind, count) in losses.events.kinds.sorted(by: { $0.key < $1.key }) { json.member(kind, count) }
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}

extension Tally {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("reads", reads)
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("slowest", 1)] {
            json.number("\(name)Milliseconds", latency(share))
        }
        json.object("levels") { json in
            for level in ServiceLevel.allCases { json.member(level.rawValue, count(level)) }
        }
        json.object("sources") { json in
            for (source, count) in sources.sorted(by: { $0.key < $1.key }) { json.member(source, count) }
        }
        json.object("classes") { json in
            for readClass in ReadClass.allCases { json.member(readClass.rawValue, count(readClass)) }
        }
        json.member("levelUntrue", levelsUntrue)
        json.member("failovers", failovers)
        json.number("longestLagMilliseconds", longestLag / .milliseconds(1))
    }
}

extension JSONWriter {
    fileprivate mutating func number(_ name: String, _ value: Double?) {
        key(name)
        guard let value else { return null() }
        number((value * 1000).rounded() / 1000)
    }
}
