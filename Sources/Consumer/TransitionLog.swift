import CacheTier
import Entitlements
import Runtime
import Time

// What the log says of states and rules.

extension AppliedChange {
    /// Which rules were at work when the observation was taken in, and what became of the state.
    func logFields(of observation: Observation) -> Log.Fields {
        let known = before ?? LineageRecord(lineage: after.lineage)
        let rules = known.rulesAtWork(takingIn: observation).map(\.rawValue).joined(separator: " ")
        let states = entries.filter { $0.kind == .transition }
        let path = states.first.map { [$0.fromName] + states.map(\.toName) } ?? []
        return ["rules": .init(rules), "states": .init(path.joined(separator: " "))]
    }
}

extension HistoryEntry {
    var fromName: String { from?.rawValue ?? "nothing" }
    var toName: String { to?.rawValue ?? "nothing" }

    /// Of one that the table does not know.
    var logFields: Log.Fields {
        ["from": .init(fromName), "to": .init(toName), "cause": .init(cause.rawValue), "at": .init(at.rfc3339)]
    }
}
