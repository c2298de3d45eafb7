import CacheTier
import Entitlements
import Gateway
import JSON
import Runtime
import Time

/// `holdfast unclaimed`: purchases that nobody has.
enum UnclaimedCommand {
    static let summary = "lists purchases that no customer has"
    static let help = """
        usage: holdfast unclaimed [--limit N] [--after PLACE] [--app ID] [--environment sandbox] [--json]

        Lists purchases that nobody has, those seen first first: no signed transaction of them names a customer
        (appAccountToken), and no backend has posted one for a customer. They give nobody anything until one does; see
        holdfast claim. Read from Redis.

          --limit N           so many, default 100
          --after PLACE       go on where the list before ended: what it gave as next
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 there are none, 1 there are some, 2 usage, 3 Redis is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: StoreSession.options.union(["limit", "after"]), flags: ["json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let limit = try arguments.integer("limit", in: 1...1000) ?? 100
        return try await StoreSession.with("unclaimed", arguments) { session in
            let page = try await session.store.unclaimed(
                session.app.id, session.environment, after: arguments.value("after"), limit: limit)
            let count = try await session.store.unclaimedCount(session.app.id, session.environment)
            let now = WallClock.system.now()
            print(
                arguments.has("json")
                    ? json(page, count, session, now) : text(page, count, session.rules, now))
            return page.lineages.isEmpty ? 0 : 1
        }
    }

    static func text(_ page: UnclaimedPage, _ count: Int, _ rules: StoreRules, _ now: Timestamp) -> String {
        guard !page.lineages.isEmpty else { return "Every purchase has its customer." }
        var lines = ["\(max(count, page.lineages.count)) that nobody has:"]
        for found in page.lineages {
            let evaluation = found.record.evaluated(at: now, map: rules.map, policy: rules.evaluation)
            let id = Console.printable(found.lineage.originalTransactionID)
            lines.append(
                "\(id)  \(Console.printable(evaluation.productID))  \(evaluation.state.rawValue)  "
                    + "seen \(found.firstSeen.rfc3339)")
        }
        if let next = page.next { lines.append("Go on with --after \(Console.printable(next))") }
        return lines.joined(separator: "\n")
    }

    private static func json(
        _ page: UnclaimedPage, _ count: Int, _ session: StoreSession, _ now: Timestamp
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        json.member("environment", session.environment.rawValue)
        json.unclaimed(page, count: count, at: now, session.rules)
        json.endObject()
        return json.text
    }
}
