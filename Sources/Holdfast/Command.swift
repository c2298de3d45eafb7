import Glibc
import Runtime

/// One subcommand of `holdfast`.
struct Command: Sendable {
    let name: String
    /// One line for the overview.
    let summary: String
    let help: String
    /// Returns the exit code.
    let run: @Sendable ([String]) async throws -> Int32

    static let all = [
        LineCommands.gateway, LineCommands.consumer, LineCommands.serve,
        Command(
            name: "settings", summary: SettingsCommand.summary, help: SettingsCommand.help, run: SettingsCommand.run),
        Command(name: "doctor", summary: DoctorCommand.summary, help: DoctorCommand.help, run: DoctorCommand.run),
        Command(name: "verify", summary: VerifyCommand.summary, help: VerifyCommand.help, run: VerifyCommand.run),
        Command(name: "receipt", summary: ReceiptCommand.summary, help: ReceiptCommand.help, run: ReceiptCommand.run),
        Command(name: "sign", summary: SignCommand.summary, help: SignCommand.help, run: SignCommand.run),
        Command(name: "explain", summary: ExplainCommand.summary, help: ExplainCommand.help, run: ExplainCommand.run),
        Command(
            name: "products", summary: ProductsCommand.summary, help: ProductsCommand.help, run: ProductsCommand.run),
        Command(name: "replay", summary: ReplayCommand.summary, help: ReplayCommand.help, run: ReplayCommand.run),
        Command(name: "history", summary: HistoryCommand.summary, help: HistoryCommand.help, run: HistoryCommand.run),
        Command(
            name: "unclaimed", summary: UnclaimedCommand.summary, help: UnclaimedCommand.help,
            run: UnclaimedCommand.run),
        Command(name: "claim", summary: ClaimCommand.summary, help: ClaimCommand.help, run: ClaimCommand.run),
        Command(
            name: "snapshot", summary: SnapshotCommand.summary, help: SnapshotCommand.help, run: SnapshotCommand.run),
        Command(
            name: "backfill", summary: BackfillCommand.summary, help: BackfillCommand.help, run: BackfillCommand.run),
        Command(
            name: "reconcile", summary: ReconcileCommand.summary, help: ReconcileCommand.help,
            run: ReconcileCommand.run),
        Command(name: "drift", summary: DriftCommand.summary, help: DriftCommand.help, run: DriftCommand.run),
        Command(name: "api", summary: APICommand.summary, help: APICommand.help, run: APICommand.run),
        Command(
            name: "simulator", summary: SimulatorCommand.summary, help: SimulatorCommand.help,
            run: SimulatorCommand.run),
        Command(
            name: "quarantine", summary: QuarantineCommand.summary, help: QuarantineCommand.help,
            run: QuarantineCommand.run),
        Command(name: "move", summary: MoveCommand.summary, help: MoveCommand.help, run: MoveCommand.run),
        Command(name: "events", summary: EventsCommand.summary, help: EventsCommand.help, run: EventsCommand.run),
        Command(name: "demo", summary: DemoCommand.summary, help: DemoCommand.help, run: DemoCommand.run),
        Command(name: "drill", summary: DrillCommand.summary, help: DrillCommand.help, run: DrillCommand.run),
    ]

    private static var overview: String {
        let width = all.map(\.name.count).max() ?? 0
        let lines = all.map { "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.summary)" }
        return """
            usage: holdfast COMMAND [ARGUMENTS]

            \(lines.joined(separator: "\n"))

            `holdfast COMMAND --help` tells more. Exit codes: 0 fine, 1 the thing asked about is bad, 2 usage,
            3 a dependency is unreachable.
            """
    }

    /// Finds the subcommand and runs it; mistakes go to standard error.
    static func run(_ arguments: [String]) async -> Int32 {
        guard let name = arguments.first, name != "--help", name != "-h", name != "help" else {
            print(overview)
            return arguments.isEmpty ? 2 : 0
        }
        guard let command = all.first(where: { $0.name == name }) else {
            let nearest = NearestName.to(name, among: all.map(\.name))
            Console.error("there is no command \(name)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
            return 2
        }
        let rest = Array(arguments.dropFirst())
        if rest.contains("--help") || rest.contains("-h") {
            print(command.help)
            return 0
        }
        do { return try await command.run(rest) } catch let error as UsageError {
            Console.error("\(error.sentence)\nSee holdfast \(name) --help.")
            return 2
        } catch let error as SettingsError {
            for problem in error.problems { Console.error("settings: \(problem)") }
            return 2
        } catch {
            Console.error("\(error)")
            return 3
        }
    }
}

/// What people read at a terminal.
enum Console {
    /// Shows a line at once, also in a pipe, where output would otherwise wait for a full buffer.
    static func line(_ text: String) {
        print(text)
        // nil is every stream; Swift 6 does not let the name stdout be used.
        fflush(nil)
    }

    /// What comes from elsewhere may hold anything, and goes to a terminal: no controls, and no more than fits.
    static func printable(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "-" }
        return text.printable()
    }

    /// Says on standard error what went wrong, in one line or several. Much of it was said by others.
    static func error(_ text: String) {
        // What was shown before it stands before it, also where both go to one file.
        fflush(nil)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        Log.standardError(
            Array("holdfast: \(lines.map { String($0).printable(limit: 65_536) }.joined(separator: "\n"))\n".utf8))
    }
}
