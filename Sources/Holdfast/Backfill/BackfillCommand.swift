import CacheTier
import Consumer
import Entitlements
import Runtime
import Time

/// `holdfast backfill`: what Apple says it sent, compared with what consumers have settled; what is missing goes through
/// the line.
enum BackfillCommand {
    static let summary = "compares Apple's notification history with what came, and makes up for what did not"
    static let help = """
        usage: holdfast backfill --since TIME [--until TIME] [--all | --check] [OPTIONS]
               holdfast backfill --resume [JOB] [OPTIONS]
               holdfast backfill --list [OPTIONS]
               holdfast backfill --status [OPTIONS]

        Reads Apple's notification history. Notifications that no consumer has settled go through the line like any other,
        marked with the job that found them; what comes twice changes nothing. The calls keep to the shared call budget, behind
        everything that is urgent. How far it is, is kept in Redis: one that was interrupted goes on with --resume.

        What consumers have settled is remembered for recovery.seenKept; what is older goes through the line too, and is
        counted by itself. Apple keeps 180 days in production and 30 in the sandbox.

          --since TIME     from when: a time such as 2026-11-30T12:00:00Z, or how long ago, such as 6h or 3d
          --until TIME     until when, now by default
          --check          only count what is missing
          --all            send all through the line, also what consumers have settled; after Redis was damaged, say
          --resume [JOB]   go on with one that was interrupted: the newest, or JOB
          --list           show the backfills and recoveries that Redis knows of
          --status         whether all that Apple sent is with us, as consumers found when they looked last (they do every
                           backfill.every, and sooner after a gap); of both environments, if none is named
          --environment E  production (default) or sandbox
          --app ID         the app, if the settings have several
          --json           answer as JSON
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Progress goes to standard error. Exit codes: 0 fine, 1 something in the history cannot be used, --check found
        something missing, or --status has something to worry about, 2 usage, 3 Apple, Redis or RabbitMQ is unreachable.
        """

    /// What is to be done.
    enum Work: Equatable {
        case begin(since: Timestamp, until: Timestamp, RecoveryJob.Taking)
        case resume(String?)
        case list
        case status
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["since", "until", "environment", "app", "settings"],
            flags: ["json", "all", "check", "resume", "list", "status"])
        let work = try work(arguments, now: WallClock.system.now())
        return try await BackfillSession.with(arguments) { session in
            switch work {
            case .list: try await session.list()
            case .status: try await session.status(everywhere: arguments.value("environment") == nil)
            case .resume(let name): try await session.resume(name)
            case .begin(let since, let until, let taking): try await session.begin(since, until, taking)
            }
        }
    }

    static func work(_ arguments: CommandArguments, now: Timestamp) throws(UsageError) -> Work {
        let since = try arguments.time("since", now: now)
        let until = try arguments.time("until", now: now)
        let ways = [since != nil ? "--since" : nil, arguments.has("resume") ? "--resume" : nil]
        let looks = ["list", "status"].map { arguments.has($0) ? "--\($0)" : nil }
        let named = (ways + looks).compactMap(\.self)
        guard named.count == 1 else {
            throw UsageError(
                named.isEmpty
                    ? "say from when with --since TIME, or --resume, --list or --status"
                    : "one at a time: \(named.joined(separator: ", "))"
            )
        }
        if arguments.has("all"), arguments.has("check") { throw UsageError("--all and --check exclude each other") }
        if since == nil, until != nil || arguments.has("all") || arguments.has("check") {
            throw UsageError("--until, --all and --check go with --since")
        }
        if let stray = arguments.operands.dropFirst(arguments.has("resume") ? 1 : 0).first {
            throw UsageError("\(stray) is one word too many")
        }
        if arguments.has("list") { return .list }
        if arguments.has("status") { return .status }
        if arguments.has("resume") { return .resume(arguments.operands.first) }
        guard let since else { throw UsageError("say from when with --since TIME") }
        let end = until ?? now
        guard since < end else { throw UsageError("--since must lie before --until, and before now") }
        guard end <= now else { throw UsageError("--until lies ahead") }
        return .begin(
            since: since, until: end, arguments.has("all") ? .all : arguments.has("check") ? .nothing : .missing)
    }
}
