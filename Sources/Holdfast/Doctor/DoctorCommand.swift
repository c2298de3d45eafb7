import Entitlements
import Glibc
import Runtime

/// `holdfast doctor`: whether all is set up right and works, and if not what to do.
enum DoctorCommand {
    static let summary = "says whether all is set up right and works, and what to do where it is not"
    static let help = """
        usage: holdfast doctor [--settings FILE] [OPTIONS]

        Examines the settings and the files they name, the trusted roots, this machine, RabbitMQ, Redis, gateway and
        consumer, and for each app with a key the App Store Server API and the way of a notification from Apple into the
        ledger. One line a check: fine, warning, wrong, or not checked and why; below it, after >, what to do. All checks
        are made, side by side, whatever the others find, while the system runs or when it is down. Looking changes
        nothing: exchanges and queues are compared and never made, messages are sent to nobody or refused. The one thing
        set in motion is Apple's test notification, of type TEST, which is kept in the ledger and changes no record.

          --settings FILE      the settings, JSON with // comments (default HOLDFAST_SETTINGS)
          --app ID             only this app's keys and test notifications; may be given several times
          --environment NAME   production or sandbox; both by default
          --no-test            asks Apple for no test notification
          --no-network         only what this machine knows by itself
          --skip NAME          leaves out a check, or all whose names begin so; may be given several times
          --timeout SECONDS    for each check, default 10; a test notification has six times that
          --strict             warnings count as wrong in the exit code
          --json               answer as JSON

        Exit codes: 0 all fine (warnings included), 1 something is wrong, 2 usage, 3 something that is needed does not
        answer.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["settings", "app", "environment", "skip", "timeout"],
            flags: ["no-test", "no-network", "strict", "json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let timeout = try arguments.integer("timeout", in: 1...3600) ?? 10
        guard let path = arguments.value("settings") ?? HoldfastSettings.environmentPath else {
            throw UsageError("name the settings file with --settings FILE or HOLDFAST_SETTINGS")
        }
        let reader: SettingsReader
        do {
            guard let read = try HoldfastSettings.reader(path: path) else { return 2 }
            reader = read
        } catch let error as UsageError {
            let unreadable = Unreadable(sentence: error.sentence)
            return await examine(
                Examination(checks: [unreadable], timeout: .seconds(timeout)) { _ in nil },
                asJSON: arguments.has("json"), countingWarnings: false)
        }
        let patient = try Patient(
            reader: reader, path: path, apps: Set(arguments.values("app")), environments: try environments(arguments))
        for app in arguments.values("app") where !patient.apps.contains(where: { $0.id.rawValue == app }) {
            let known = patient.settings.apps.map(\.id.rawValue)
            throw UsageError("--app: the settings have no app \(app); there are: \(known.joined(separator: ", "))")
        }
        let checks = Checklist.checks(
            for: patient, timeout: .seconds(timeout), sendsTest: !arguments.has("no-test"))
        let skipped = arguments.values("skip")
        for prefix in skipped where !checks.contains(where: { $0.name.hasPrefix(prefix) }) {
            throw UsageError(
                "--skip: there is no check \(prefix); there are: \(checks.map(\.name).joined(separator: "; "))")
        }
        let staysHere = arguments.has("no-network")
        let examination = Examination(checks: checks, timeout: .seconds(timeout)) { check in
            if skipped.contains(where: check.name.hasPrefix) { return "--skip" }
            return staysHere && check.isRemote ? "--no-network" : nil
        }
        return await examine(examination, asJSON: arguments.has("json"), countingWarnings: arguments.has("strict"))
    }

    private static func environments(_ arguments: CommandArguments) throws(UsageError) -> [StoreEnvironment] {
        guard let name = arguments.value("environment") else { return [.production, .sandbox] }
        guard let environment = StoreEnvironment(rawValue: name) else {
            throw UsageError("--environment takes production or sandbox")
        }
        return [environment]
    }

    private static func examine(_ examination: Examination, asJSON: Bool, countingWarnings: Bool) async -> Int32 {
        let lines = DoctorLines(
            names: examination.checks.map(\.name),
            isColoured: !asJSON && isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil)
        let waiting = WaitingLine(isShown: isatty(STDERR_FILENO) == 1)
        let outcomes = await examination.run { news, names in
            waiting.clear()
            if !asJSON { for outcome in news { Console.line(lines.lines(of: outcome)) } }
            waiting.show(names)
        }
        waiting.clear()
        let report = DoctorReport(outcomes: outcomes)
        let code = report.exitCode(countingWarnings: countingWarnings)
        Console.line(asJSON ? report.json(countingWarnings: countingWarnings) : "\n\(report.summary)")
        return code
    }
}

/// Who is waited for, on a terminal, in a line that goes away.
private struct WaitingLine {
    let isShown: Bool

    func show(_ names: [String]) {
        guard isShown, let first = names.first else { return }
        let others = names.count > 1 ? " and \(names.count - 1) more" : ""
        Log.standardError(Array("\rwaiting for \(first)\(others) …".utf8))
    }

    func clear() {
        if isShown { Log.standardError(Array("\r\u{1B}[K".utf8)) }
    }
}

/// Settings that say nothing at all.
private struct Unreadable: Check {
    let name = "settings"
    let isRemote = false
    let sentence: String
    func examine() async -> Finding { .wrong(sentence, "Mend that first: nothing else can be examined without it.") }
}
