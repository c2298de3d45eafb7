import Broker
import EmbeddedQueue
import EmbeddedStore
import JSON
import Runtime

/// `holdfast events`: what others would have been told, when there is no RabbitMQ to tell them.
enum EventsCommand {
    static let summary = "lists the outbound events that the embedded queue keeps"
    static let help = """
        usage: holdfast events [--after PLACE] [--limit N] [--json] [--settings FILE]

        With queue.kind embedded nobody can subscribe to events: the last of them (embedded.eventsKept) are kept in the
        queue's file, and this lists them, oldest first. Ask again with --after and the place of the last one you have;
        each event has an id by which a repeated one is known. docs/events.md says what is in them.

          --after PLACE    only those behind this place (default: from the oldest that is kept)
          --limit N        so many, default 100
          --json           one JSON object a line: place, routingKey, event
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 2 usage, 3 the queue's file cannot be read.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: ["after", "limit", "settings"], flags: ["json"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        guard settings.embedded.queue == .embedded else {
            throw UsageError(
                "queue.kind is rabbitmq, so events go to its exchange \(settings.broker.names.events): bind a queue to it"
            )
        }
        let place = arguments.value("after") ?? "0"
        let parts = place.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ UInt64($0) != nil }) else {
            throw UsageError("--after takes the place of an event, such as 1767225600000-0")
        }
        let limit = try arguments.integer("limit", in: 1...100_000) ?? 100
        let events = try await settings.withEmbeddedQueue { try await $0.events(after: place, limit: limit) }
        if events.isEmpty, !arguments.has("json") { print("There are no events behind \(place).") }
        for event in events {
            let body = String(decoding: event.item.message.body, as: UTF8.self)
            if arguments.has("json") {
                var json = JSONWriter()
                json.beginObject()
                json.member("place", event.item.id)
                json.member("routingKey", event.routingKey)
                json.member("event", body)
                json.endObject()
                print(json.text)
            } else {
                print("\(event.item.id)  \(Console.printable(event.routingKey))\n  \(Console.printable(body))")
            }
        }
        return 0
    }
}
