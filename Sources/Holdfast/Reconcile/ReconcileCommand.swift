import CacheTier
import Entitlements
import Runtime

/// `holdfast reconcile`: what Apple is asked about, and when.
enum ReconcileCommand {
    static let summary = "asks Apple about a customer now; shows what is asked by itself, what is due, what it comes to"
    static let help = """
        usage: holdfast reconcile CUSTOMER [OPTIONS]
               holdfast reconcile --transaction ORIGINAL_TRANSACTION_ID [OPTIONS]
               holdfast reconcile --plan [OPTIONS]
               holdfast reconcile --status [OPTIONS]

        Consumers ask Apple about every subscription now and then, so that a notification that was lost is found out before
        the customer does: more often near an end, at once when a period is over without a word, seldom when nothing can
        happen. What is due when stands in Redis, and every consumer takes a part of it.

        With a customer, Apple is asked now about each of the purchases, ahead of what is asked by itself, and the answers go
        through the line: shows what Apple said, what of it was not known, and whether a consumer has stored it.

          --transaction ID    ask about this purchase alone, by its original transaction id
          --plan              the table by which they do, how many subscriptions are in which row now, how many calls a day
                              that comes to, and how long a million take. Without settings: the table and the million
          --status            what is due now, what is overdue, and since when
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 something is overdue, or the plan comes to more than the call budget, or Apple did not say or
        leaves something in doubt, or nothing is known of the customer, 2 usage, 3 Redis or RabbitMQ is unreachable.
        """

    enum Work: Equatable {
        case customer(String)
        case transaction(String)
        case plan
        case status
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: StoreSession.options.union(["transaction"]), flags: ["json", "plan", "status"])
        switch try work(arguments) {
        case .customer(let id): return try await ReconcileCheck.run(arguments, .customer(id))
        case .transaction(let id): return try await ReconcileCheck.run(arguments, .transaction(id))
        case .plan: return try await ReconcilePlan.run(arguments)
        case .status: return try await ReconcileStatus.run(arguments)
        }
    }

    static func work(_ arguments: CommandArguments) throws(UsageError) -> Work {
        if let stray = arguments.operands.dropFirst().first { throw UsageError("\(stray) is one word too many") }
        let (customer, transaction) = (arguments.operands.first, arguments.value("transaction"))
        for (name, id) in [("a customer", customer), ("--transaction", transaction)] {
            if let id, id.allSatisfy(\.isWhitespace) { throw UsageError("\(name) is named by an id, not by nothing") }
        }
        let named: [(name: String, work: Work)?] = [
            customer.map { ("a customer", .customer($0)) },
            transaction.map { ("--transaction", .transaction($0)) },
            arguments.has("plan") ? ("--plan", .plan) : nil, arguments.has("status") ? ("--status", .status) : nil,
        ]
        let wanted = named.compactMap(\.self)
        guard let first = wanted.first else {
            throw UsageError("name a customer, or say what you want with --transaction, --plan or --status")
        }
        guard wanted.count == 1 else {
            throw UsageError("one at a time: \(wanted.map(\.name).joined(separator: ", "))")
        }
        return first.work
    }
}
