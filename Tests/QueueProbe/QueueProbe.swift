import Broker
import EmbeddedQueue
import EmbeddedStore
import Glibc
import Redis
import Runtime

/// A process for the embedded queue's tests to kill: it takes in and applies for ever, and prints what was acknowledged
/// and, before that is taken out of the queue, what it applies.
@main
enum QueueProbe {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { exit(2) }
        let names = BrokerNames(prefix: "test")
        let file = try EmbeddedRedis(
            settings: EmbeddedStoreSettings(path: "\(CommandLine.arguments[1])/queue.db"))
        try await file.start()
        let queue = EmbeddedQueue(redis: file.connector.link("queue"), names: names)
        let subscription = EmbeddedSubscription(queue: queue, concurrency: 4, log: .discarding) { delivery in
            say("applied", String(decoding: delivery.message.body, as: UTF8.self))
            return .acknowledge
        }
        try await subscription.start()
        try await withThrowingTaskGroup { group in
            for side in 0..<8 {
                group.addTask {
                    var number = 0
                    while true {
                        let name = "\(side)-\(number)"
                        try await queue.publish(
                            BrokerMessage(body: Array(name.utf8)), to: names.intake, routingKey: "", mandatory: true)
                        say("stored", name)
                        number += 1
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func say(_ what: String, _ name: String) {
        let line = Array("\(what) \(name)\n".utf8)
        guard write(1, line, line.count) == line.count else { exit(3) }
    }
}
