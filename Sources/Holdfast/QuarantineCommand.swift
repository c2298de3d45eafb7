import Broker
import Consumer
import EmbeddedQueue
import EmbeddedStore
import JSON
import Runtime
import Time

/// `holdfast quarantine`: what was acknowledged and cannot be used yet, and the way back to work.
enum QuarantineCommand {
    static let summary = "lists what lies in quarantine and why, or puts it back to work"
    static let help = """
        usage: holdfast quarantine list [--limit N] [--json] [--settings FILE]
               holdfast quarantine retry [--reason CODE] [--json] [--settings FILE]

        Quarantine keeps what was acknowledged and cannot be used yet, each message with its reason. Nothing leaves it
        by itself.

        list shows the oldest messages and leaves them where they are: since when, reason, app, environment,
        correlation (as in the logs), message id, when the gateway took it in, and what was wrong.

        retry puts messages back to the consumers, all or those of one reason, for when what was wrong has been mended:
        an app that has come into the settings, a root that is trusted now, a version that knows more. What still
        cannot be used comes back. It may run while the consumers do; interrupted, it can repeat a message and loses
        none.

          --limit N        list so many, default 100
          --reason CODE    retry only these; may be given several times
          --json           answer as JSON, bodies as text included
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 --reason names nothing that lies there, 2 usage, 3 the queue is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: ["limit", "reason", "settings"], flags: ["json"])
        guard let verb = arguments.operands.first else { throw UsageError("quarantine takes list or retry") }
        guard arguments.operands.count == 1 else {
            throw UsageError("\(arguments.operands[1]) is one word too many")
        }
        switch verb {
        case "list":
            if arguments.value("reason") != nil { throw UsageError("--reason goes with retry") }
            let limit = try arguments.integer("limit", in: 1...10_000) ?? 100
            return try await list(limit, asJSON: arguments.has("json"), settings(arguments))
        case "retry":
            if arguments.value("limit") != nil { throw UsageError("--limit goes with list") }
            return try await retry(
                Set(arguments.values("reason")), asJSON: arguments.has("json"), settings(arguments))
        default:
            let nearest = NearestName.to(verb, among: ["list", "retry"])
            throw UsageError(
                "quarantine takes list or retry, not \(verb)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
        }
    }

    private static func settings(_ arguments: CommandArguments) throws -> HoldfastSettings {
        try HoldfastSettings.load(path: arguments.value("settings"))
    }

    // MARK: list

    private static func list(_ limit: Int, asJSON: Bool, _ settings: HoldfastSettings) async throws -> Int32 {
        if settings.embedded.queue == .embedded { return try await listEmbedded(limit, asJSON: asJSON, settings) }
        let (queue, _) = try queue(settings)
        do throws(BrokerError) {
            let count = try await queue.count()
            let messages = try await queue.list(limit: limit)
            print(asJSON ? json(messages, of: count) : text(messages, of: count))
            return 0
        } catch  where error.code == .notFound {
            // Nothing has ever run here, so nothing was acknowledged either.
            print(asJSON ? json([], of: 0) : text([], of: 0))
            return 0
        }
    }

    private static func listEmbedded(
        _ limit: Int, asJSON: Bool, _ settings: HoldfastSettings
    ) async throws -> Int32 {
        let count = try await settings.withEmbeddedQueue { queue in try await queue.counts().quarantine }
        let items = try await settings.withEmbeddedQueue { queue in try await queue.quarantined(limit: limit) }
        let messages = items.map { QuarantinedMessage($0.message) }
        print(asJSON ? json(messages, of: count) : text(messages, of: count))
        return 0
    }

    static func text(_ messages: [QuarantinedMessage], of count: Int) -> String {
        guard !messages.isEmpty else { return "Quarantine is empty." }
        let entries = messages.map { message in
            """
            \(message.quarantinedAt?.rfc3339 ?? "at an unknown time")  \(Console.printable(message.reason.code))
              \(Console.printable(message.reason.sentence))
              app \(Console.printable(message.app)), environment \(Console.printable(message.environment)), \
            received \(message.receivedAt?.rfc3339 ?? "-"), \(message.body.count) bytes
              correlation \(Console.printable(message.correlation)), message id \(Console.printable(message.messageID))
            """
        }
        // Others may have put more in meanwhile.
        let shown =
            messages.count < count ? "The oldest \(messages.count) of \(count) messages:" : "\(messages.count) in all:"
        return ([shown] + entries).joined(separator: "\n")
    }

    static func json(_ messages: [QuarantinedMessage], of count: Int) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("count", max(count, messages.count))
        json.array("messages", messages) { json, message in
            json.beginObject()
            json.member("quarantinedAt", message.quarantinedAt?.rfc3339)
            json.member("reason", message.reason.code)
            json.member("detail", message.reason.sentence)
            json.member("app", message.app)
            json.member("environment", message.environment)
            json.member("correlation", message.correlation)
            json.member("messageId", message.messageID)
            json.member("receivedAt", message.receivedAt?.rfc3339)
            json.member("body", String(decoding: message.body, as: UTF8.self))
            json.endObject()
        }
        json.endObject()
        return json.text
    }

    // MARK: retry

    private static func retry(
        _ reasons: Set<String>, asJSON: Bool, _ settings: HoldfastSettings
    ) async throws -> Int32 {
        let isSelected: @Sendable (QuarantinedMessage) -> Bool = { reasons.isEmpty || reasons.contains($0.reason.code) }
        let report =
            settings.embedded.queue == .embedded
            ? try await settings.withEmbeddedQueue { try await $0.retry(where: isSelected) }
            : try await retryAtBroker(where: isSelected, settings)
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("returned", report.returned)
            json.member("kept", report.kept)
            json.endObject()
            print(json.text)
        } else {
            print("Put back to work: \(report.returned). Left in quarantine: \(report.kept).")
        }
        return !reasons.isEmpty && report.returned == 0 ? 1 : 0
    }

    private static func retryAtBroker(
        where isSelected: @escaping @Sendable (QuarantinedMessage) -> Bool, _ settings: HoldfastSettings
    ) async throws -> QuarantineQueue.Report {
        let (queue, publisher) = try queue(settings)
        try await publisher.start()
        let result: Result<QuarantineQueue.Report, any Error>
        do {
            // The publisher would go on trying to connect; who asks at a terminal wants to know.
            _ = try await queue.count()
            result = .success(
                try await queue.retry(where: isSelected))
        } catch { result = .failure(error) }
        await publisher.drain()
        return try result.get()
    }

    private static func queue(_ settings: HoldfastSettings) throws -> (QuarantineQueue, BrokerPublisher) {
        // What went back is in the answer; a line for each would only be in its way.
        let log = Log(part: "quarantine", minimum: max(settings.logLevel, .warning))
        let metrics = Metrics()
        let publisher = try BrokerPublisher(settings: settings.broker, metrics: metrics, log: log)
        return (
            QuarantineQueue(settings: settings.broker, publisher: publisher, metrics: metrics, log: log), publisher
        )
    }
}
