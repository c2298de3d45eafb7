import CacheTier
import Entitlements
import Runtime

/// `holdfast reconcile`: what Apple is asked about, and when.
enum ReconcileCommand {
    static let summary = "shows what Apple is asked about by itself, what is due, and what it comes to"
    static let help = """
        usage: holdfast reconcile --plan [OPTIONS]
               holdfast reconcile --status [OPTIONS]

        Consumers ask Apple about every subscription now and then, so that a notification that was lost is found out before
        the customer does: more often near an end, at once when a period is over without a word, seldom when nothing can
        happen. What is due when stands in Redis, and every consumer takes a part of it.

          --plan              the table by which they do, how many subscriptions are in which row now, how many calls a day
                              that comes to, and how long a million take. Without settings: the table and the million
          --status            what is due now, what is overdue, and since when
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 something is overdue, or the plan comes to more than the call budget, 2 usage, 3 Redis is
        unreachable.
        """

    enum Work: Equatable {
        case plan
        case status
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: StoreSession.options, flags: ["json", "plan", "status"])
        switch try work(arguments) {
        case .plan: return try await ReconcilePlan.run(arguments)
        case .status: return try await ReconcileStatus.run(arguments)
        }
    }

    static func work(_ arguments: CommandArguments) throws(UsageError) -> Work {
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        switch (arguments.has("plan"), arguments.has("status")) {
        case (true, false): return .plan
        case (false, true): return .status
        case (true, true): throw UsageError("one at a time: --plan, --status")
        case (false, false): throw UsageError("say what you want with --plan or --status")
        }
    }
}
