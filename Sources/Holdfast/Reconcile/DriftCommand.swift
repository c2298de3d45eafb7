import AppStore
import CacheTier
import Consumer
import Entitlements
import JSON
import Runtime
import Time

/// `holdfast drift`: what Apple answered and no notification had told, and why.
enum DriftCommand {
    static let summary = "lists what Apple answered and no notification had told, and why"
    static let help = """
        usage: holdfast drift [--since TIME] [--limit N] [--app ID] [--environment sandbox] [--json]

        Whenever Apple is asked about a purchase and says what we did not know, that is noted, field by field, and examined
        a while later:

          late         the notification came after Apple was asked: nothing is wrong
          undelivered  Apple says that it could not deliver the notification
          lost         Apple says that it delivered it, and it is not with us
          neverSent    Apple's notification history has none
          unheeded     it had come, and did not tell us; holdfast quarantine list may say why
          untold       no notification tells of this
          unknown      it could not be found out
          open         not yet examined

        What was found is in the record long before. The counts are since the beginning.

          --since TIME        only what was found since: a time such as 2026-11-30T12:00:00Z, or how long ago, such as 6h
          --limit N           list so many, the newest first, default 50; all are counted
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 something since TIME, listed or not, is not harmless (all but late, untold and open),
        2 usage, 3 Redis is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: StoreSession.options.union(["since", "limit"]), flags: ["json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let limit = try arguments.integer("limit", in: 1...10_000) ?? 50
        let since = try arguments.time("since", now: WallClock.system.now())
        return try await StoreSession.with("drift", arguments) { session in
            let store = DriftStore(redis: session.redis, settings: session.settings.drift)
            let (app, environment) = (session.app.id, session.environment)
            let counts = try await store.counts(app, environment)
            let open = try await store.openCount(app, environment)
            // All that is kept, which is bounded.
            let all = try await store.list(app, environment, limit: .max)
            let found = all.filter { drift in since.map { drift.foundAt >= $0 } ?? true }
            let listed = Array(found.prefix(limit))
            let more = found.count - listed.count
            Console.line(
                arguments.has("json")
                    ? json(listed, more: more, counts, open: open, session)
                    : text(listed, more: more, counts, open: open, since: since))
            return exitCode(found)
        }
    }

    /// By all that was found, whatever of it is listed.
    static func exitCode(_ found: [Drift]) -> Int32 { found.contains(where: \.isAlarming) ? 1 : 0 }

    static func text(
        _ listed: [Drift], more: Int, _ counts: [DriftStore.Count], open: Int, since: Timestamp?
    ) -> String {
        var lines = ["to be examined: \(open)"]
        for count in counts { lines.append("\(count.field.rawValue)  \(count.cause.rawValue)  \(count.count)") }
        for drift in listed {
            let states = "\(drift.before?.rawValue ?? "nothing") \(drift.after?.rawValue ?? "nothing")"
            lines.append("")
            lines.append(
                "\(drift.foundAt.rfc3339)  \(drift.lineage.originalTransactionID)  \(states)  (\(drift.purpose.rawValue))"
            )
            lines += drift.differences.map { "  \($0.sentence)" }
        }
        if more > 0 { lines.append("and \(more) more; --limit lists them") }
        if listed.isEmpty {
            let isClean = counts.isEmpty && open == 0
            lines.append(
                isClean
                    ? "Nothing that Apple answered had not been told by a notification."
                    : since.map { "Nothing was found since \($0.rfc3339)." } ?? "Nothing of it is kept any more.")
        }
        return lines.map { $0.isEmpty ? "" : Console.printable($0) }.joined(separator: "\n")
    }

    private static func json(
        _ listed: [Drift], more: Int, _ counts: [DriftStore.Count], open: Int, _ session: StoreSession
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        json.member("environment", session.environment.rawValue)
        json.member("open", open)
        json.array("counts", counts) { json, count in
            json.beginObject()
            json.member("field", count.field.rawValue)
            json.member("cause", count.cause.rawValue)
            json.member("count", count.count)
            json.endObject()
        }
        json.array("drifts", listed) { json, drift in
            json.beginObject()
            drift.write(to: &json)
            json.endObject()
        }
        json.member("more", more)
        json.endObject()
        return json.text
    }
}

extension Drift.Difference {
    /// For people.
    var sentence: String {
        let tellers = tellers.first.map { "\($0.rawValue) should have told" } ?? "no notification tells of it"
        let cause = cause.map { "\($0.rawValue)" } ?? "open"
        return "\(field.rawValue): ours \(ours ?? "nothing"), Apple's \(apples ?? "nothing"); \(tellers): \(cause)"
            + (notificationUUID.map { " (\($0))" } ?? "")
    }
}
