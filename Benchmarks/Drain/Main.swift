import Broker
import Gateway
import Glibc
import Runtime

/// What `Benchmarks/drain` measures: how fast a spool drains, and how long a new notification waits for RabbitMQ's confirm
/// with and without that going on. `DrainBenchmark PORT FOLDER RECORDS CONNECTIONS`, with RabbitMQ on that port.
@main enum DrainBenchmark {
    private static let bodyBytes = 8000

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let port = Int(arguments[1]), let records = Int(arguments[3]),
            let connections = Int(arguments[4])
        else {
            print("usage: DrainBenchmark PORT FOLDER RECORDS CONNECTIONS")
            exit(2)
        }
        var broker = BrokerSettings()
        broker.port = port
        broker.prefix = "drain-benchmark"
        let log = Log(part: "benchmark", minimum: .error)
        let metrics = Metrics()
        let publisher = try BrokerPublisher(settings: broker, metrics: metrics, log: log)
        try await publisher.start()
        let settings = SpoolSettings(folder: arguments[2])
        let spool = try Spool(settings: settings, metrics: metrics, log: log)
        try await spool.start()
        let sink = BrokerSink(publisher, names: broker.names)
        let intake = IntakeStore(broker: sink, spool: SpoolSink(spool), log: log)
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)

        let alone = await load(intake, connections, body) { .now - $0 > .seconds(3) }
        report("new notifications, no backlog", alone)

        try await fill(spool, records, body)
        var began = ContinuousClock.now
        let drainer = SpoolDrainer(
            spool: spool, sink: sink, window: settings.drainWindow, metrics: metrics, log: log)
        try await drainer.start()
        while spool.pending > 0 { try await Task.sleep(for: .milliseconds(2)) }
        let quiet = Double(records) / ((ContinuousClock.now - began) / .seconds(1))
        print("  \(pad("a backlog, nothing new"))\(Int(quiet)) spooled/s")
        await drainer.drain()

        try await fill(spool, records, body)
        began = .now
        let second = SpoolDrainer(spool: spool, sink: sink, window: settings.drainWindow, metrics: metrics, log: log)
        try await second.start()
        let beside = await load(intake, connections, body) { _ in spool.pending == 0 }
        let busy = Double(records) / ((ContinuousClock.now - began) / .seconds(1))
        report("new notifications beside a backlog", beside)
        print("  \(pad("that backlog meanwhile"))\(Int(busy)) spooled/s")

        await second.drain()
        await spool.drain()
        await publisher.drain()
        try await BrokerInspector(settings: broker).deleteTopology()
    }

    private struct Load: Sendable {
        var waits: [Duration] = []
        var spooled = 0
        var time = Duration.zero
    }

    private static func fill(_ spool: Spool, _ records: Int, _ body: [UInt8]) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for side in 0..<32 {
                group.addTask {
                    for number in stride(from: side, to: records, by: 32) {
                        try await spool.append(IntakeMessage(messageID: "old-\(number)", body: body).record)
                    }
                }
            }
        }
    }

    private static func load(
        _ intake: IntakeStore, _ connections: Int, _ body: [UInt8],
        until isOver: @escaping @Sendable (ContinuousClock.Instant) -> Bool
    ) async -> Load {
        let began = ContinuousClock.now
        var load = await withTaskGroup(of: Load.self) { group in
            for side in 0..<connections {
                group.addTask {
                    var mine = Load()
                    while !isOver(began) {
                        let sent = ContinuousClock.now
                        let place = await intake.store(IntakeMessage(messageID: "new-\(side)", body: body))
                        mine.waits.append(.now - sent)
                        if place != .broker { mine.spooled += 1 }
                    }
                    return mine
                }
            }
            return await group.reduce(into: Load()) {
                $0.waits += $1.waits
                $0.spooled += $1.spooled
            }
        }
        load.time = .now - began
        return load
    }

    private static func report(_ name: String, _ load: Load) {
        let sorted = load.waits.sorted()
        guard !sorted.isEmpty else { return print("  \(pad(name))none") }
        func quantile(_ part: Double) -> Double {
            sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] / .milliseconds(1)
        }
        let rate = Double(sorted.count) / (load.time / .seconds(1))
        func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
        print(
            "  \(pad(name))\(Int(rate)) confirmed/s, p50 \(rounded(quantile(0.5))) ms, p99 \(rounded(quantile(0.99))) ms, "
                + "\(load.spooled) to the spool")
    }

    private static func pad(_ text: String) -> String {
        text + String(repeating: " ", count: max(1, 38 - text.count))
    }
}
