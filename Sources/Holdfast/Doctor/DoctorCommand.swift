import Glibc
import Runtime

/// `holdfast doctor`: whether all is set up right and works, and if not what to do.
enum DoctorCommand {
    static let summary = "says whether all is set up right and works, and what to do where it is not"
    static let help = """
        usage: holdfast doctor [--settings FILE] [OPTIONS]

        Examines the settings and the files they name, the trusted roots, this machine, RabbitMQ, Redis, gateway and
        consumer. One line a check: fine, warning, wrong, or not checked and why; below it, after >, what to do. All checks
        are made, side by side, whatever the others find, while the system runs or when it is down. Looking changes
        nothing: exchanges and queues are compared and never made, messages are sent to nobody or refused.

          --settings FILE      the settings, JSON with // comments (default HOLDFAST_SETTINGS)
          --no-network         only what this machine knows by itself
          --skip NAME          leaves out a check, or all whose names begin so; may be given several times
          --timeout SECONDS    for each check, default 10
          --strict             warnings count as wrong in the exit code
          --json               answer as JSON

        Exit codes: 0 all fine (warnings included), 1 something is wrong, 2 usage, 3 something that is needed does not
        answer.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["settings", "skip", "timeout"], flags: ["no-network", "strict", "json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let timeout = try arguments.integer("timeout", in: 1...3600) ?? 10
        guard let reader = try HoldfastSettings.reader(path: arguments.value("settings")) else {
            throw UsageError("name the settings file with --settings FILE or HOLDFAST_SETTINGS")
        }
        let path = arguments.value("settings") ?? HoldfastSettings.environmentPath ?? ""
        let patient = try Patient(reader: reader, path: path)
        let checks = Checklist.checks(for: patient)
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
