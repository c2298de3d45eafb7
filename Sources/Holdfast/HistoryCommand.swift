import CacheTier
import Entitlements
import Gateway
import JSON
import Runtime
import Time

/// `holdfast history`: who has a purchase, and what happened to it.
enum HistoryCommand {
    static let summary = "says who has a purchase, and what happened to it"
    static let help = """
        usage: holdfast history ORIGINAL_TRANSACTION_ID [--app ID] [--environment sandbox] [--json]

        Who has the purchase, what it is now, and what happened to it as far as Redis keeps it (store.historyKept), oldest
        first: from which state to which and through what, and from which customer to which. A transition that the table
        of transitions does not know is marked with !.

          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 nothing is known of it, 2 usage, 3 Redis is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: StoreSession.options, flags: ["json"])
        guard arguments.operands.count == 1, let id = arguments.operands.first else {
            throw UsageError("history takes one original transaction id")
        }
        return try await StoreSession.with("history", arguments) { session in
            let lineage = LineageID(
                app: session.app.id, environment: session.environment, originalTransactionID: id)
            guard let found = try await session.store.find(lineage) else {
                Console.error(
                    "nothing is known of \(Console.printable(id)) in \(session.environment.rawValue); is it an original "
                        + "transaction id?")
                return 1
            }
            let now = WallClock.system.now()
            let entries = found.timeline(
                try await session.store.history(of: lineage), at: now, session.rules)
            if arguments.has("json") {
                var json = JSONWriter()
                json.beginObject()
                json.member("app", session.app.id.rawValue)
                json.member("environment", session.environment.rawValue)
                json.member("originalTransactionId", id)
                json.found(found, at: now, session.rules)
                json.history(entries)
                json.endObject()
                print(json.text)
            } else {
                print(text(found, entries, session.rules, now))
            }
            return 0
        }
    }

    static func text(
        _ found: FoundLineage, _ entries: [HistoryEntry], _ rules: StoreRules, _ now: Timestamp
    ) -> String {
        let evaluation = found.record.evaluated(at: now, map: rules.map, policy: rules.evaluation)
        let customers = found.holders.compactMap(\.customer)
        let whose = customers.isEmpty ? "Nobody has it." : "It belongs to \(customers.joined(separator: " and "))."
        var lines = [
            "\(whose) \(evaluation.summary). \(found.record.transactions.count) transactions are known."
        ]
        for entry in entries { lines.append(line(entry)) }
        return lines.map { Console.printable($0) }.joined(separator: "\n")
    }

    static func line(_ entry: HistoryEntry) -> String {
        "\(entry.isUnexpected ? "!" : " ") \(entry.at.rfc3339)  \(entry.sentence)"
    }
}
