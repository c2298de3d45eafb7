import Gateway
import Runtime

/// The commands that run the line: the gateway, the consumer, or both in one process.
enum LineCommands {
    static let gateway = Command(
        name: "gateway", summary: "takes in notifications and answers reads",
        help: help("gateway", "Takes in App Store Server Notifications V2 and answers entitlement reads.")
    ) { try await run($0, [.gateway]) }

    static let consumer = Command(
        name: "consumer", summary: "applies notifications to the records in Redis",
        help: help(
            "consumer", "Takes notifications from RabbitMQ, verifies them and applies them to the records in Redis.")
    ) { try await run($0, [.consumer]) }

    static let serve = Command(
        name: "serve", summary: "gateway and consumer in one process",
        help: help("serve", "Runs gateway and consumer in one process. Both listeners of operators are open.")
    ) { try await run($0, [.consumer, .gateway]) }

    private static func help(_ name: String, _ purpose: String) -> String {
        """
        usage: holdfast \(name) [--settings FILE]

        \(purpose) Runs until SIGTERM or SIGINT and then finishes what is in hand; SIGHUP reads the certificates again.

          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings
        """
    }

    private static func run(_ arguments: [String], _ roles: [LineProcess.Role]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: ["settings"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        var settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let signals = ProcessSignal.ofThisProcess()
        let log = Log(part: "holdfast", minimum: settings.logLevel)
        settings.leaveFiles(of: OpenFiles.raiseLimit(), log: log)
        let process = try LineProcess(roles, settings: settings, log: log)
        do {
            try await ServiceGroup(process.services, drainDeadline: settings.drainDeadline, log: log).run(
                until: signals)
        } catch let failure as ServiceGroup.Failure {
            log.error("stopped without having drained", ["error": .init(failure)])
            return 1
        }
        return 0
    }
}
