import AppStore
import CacheTier
import Entitlements
import HTTP
import Runtime

/// `holdfast drill`: breaks parts of a running stack on purpose and judges every read meanwhile.
enum DrillCommand {
    static let summary = "breaks Apple, Redis or RabbitMQ on purpose, and judges every read meanwhile"
    static var help: String {
        let width = Scenario.all.map(\.name.count).max() ?? 0
        let drills = Scenario.all.map { "  \($0.name.padded(to: width))  \($0.summary)" }.joined(separator: "\n")
        return """
            usage: holdfast drill NAME --settings FILE --simulator URL --gateway URL… --operations URL… --key KEY
                                  [--control COMMAND] [OPTIONS]

            Lets accounts live in a running simulator (buy, renew, cancel, upgrade, fail to pay with and without grace,
            recover, be refunded) and reads entitlements of all of them all the while, as backends behind a load balancer
            do. Meanwhile parts of the stack are broken and mended. Every read is judged by what is true in the store and
            by what is broken. ops/drill NAME starts a stack of its own and does all of this; the drills are:

            \(drills)

            Exit code 1 when a read failed, a payer had no access, a non-payer had access beyond the hold, a level was
            untrue, or not everything was as it should be in the end.

              --settings FILE       the stack's settings; HOLDFAST_SETTINGS names it otherwise
              --simulator URL       the simulator, such as http://127.0.0.1:8090
              --gateway URL         each gateway, the one that is killed first
              --operations URL      each gateway's listener for operators, in the same order
              --key KEY             a bearer key with the scope read
              --control COMMAND     breaks and mends parts: it is called with kill, start or lose, and redis, rabbitmq or
                                    gateway-1 or consumer-1. “lose redis” throws its data away
              --app ID              the app's id in the settings (default: the first)
              --seconds N           the unit of time: length of the stage before, and of a single outage (default 12; losses: 60)
              --rate N              reads a second (default 200)
              --accounts N          accounts to begin with (default 400; losses: 120)
              --seed N              decides what the accounts do (default 1)
              --propagation N       seconds until every answer has what happened, while all is well (default 5)
              --told N              losses: seconds until what Apple's notification history tells is found (default 10)
              --found N             losses: seconds until anything is, by asking about the subscription (default 45)
              --recovery N          seconds until all is as it should be, once all is mended (default 60)
              --slack N             seconds that a level may take to follow what is broken, beyond its bound (default 1)
              --plot FILE.svg       draws it
              --json                prints everything for scripts, and nothing else

            What each read may say, and what counts as wrong:

              right                 what is true at that instant
              behind                what was true at most --propagation before
              held                  a period is over, there was no word, and it is within the app's holdBound
              stale                 what was known when news was cut off, until all is recovered, or lost, for --found; but
                                    nobody loses what is paid for longer than --told
              unknownCustomer       “not known now”, of somebody of whom nobody could have heard while Redis is away
              failed                WRONG: no answer, or “not known now” of a customer who was known
              payerWithoutAccess    WRONG: lacks what is paid for, and none of the above explains it
              nonPayerWithAccess    WRONG: has what is not paid for, and none of the above explains it
              inventedNo            WRONG: “has nothing” of a customer of whom nobody could know it
              levelUntrue           WRONG: level, reason or asOf contradict what is broken, or each other
            """
    }

    private static let options: Set<String> = [
        "settings", "simulator", "gateway", "operations", "key", "control", "app", "seconds", "rate", "accounts",
        "seed",
        "propagation", "told", "found", "recovery", "slack", "plot",
    ]

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: options, flags: ["json"])
        guard let name = arguments.operands.first, arguments.operands.count == 1 else {
            throw UsageError("say which drill: \(Scenario.all.map(\.name).joined(separator: ", "))")
        }
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try app(arguments, settings)
        let drill = try drillOptions(arguments, try Scenario.named(name), settings, app)
        let map = app.map.products.mapValues(\.entitlements)
        let loop = try EventLoop(name: "drill")
        defer { loop.stop() }
        let client = HTTPClient(loop: loop)
        let speed = try await SimulatorClient(client: client, url: drill.simulator).speed()
        await client.close()
        // A month of the simulator's has 30 days.
        let month = Duration.milliseconds(Int64(30 * 86_400_000 / max(speed, 0.001)))
        let run = DrillRun(options: drill, map: map, month: month, broker: settings.broker, loop: loop)
        let record = try await run.run()
        await run.client.close()
        if arguments.has("json") {
            Console.line(String(decoding: record.json, as: UTF8.self))
        } else {
            let losses = record.isExact ? "\n\n\(DrillTable.losses(record))" : ""
            Console.line("\n\(DrillTable.table(record))\(losses)\n\n\(DrillTable.verdict(record))")
        }
        if let path = arguments.value("plot") { try File.replace(path, with: Array(DrillPlot(record).svg.utf8)) }
        return record.isFine ? 0 : 1
    }

    private static func app(_ arguments: CommandArguments, _ settings: HoldfastSettings) throws -> AppSettings {
        guard let name = arguments.value("app") else {
            guard let first = settings.apps.first else { throw UsageError("the settings name no app") }
            return first
        }
        guard let app = settings.apps.first(where: { $0.id.rawValue == name }) else {
            throw UsageError("the settings have no app \(name)")
        }
        return app
    }

    private static func drillOptions(
        _ arguments: CommandArguments, _ scenario: Scenario, _ settings: HoldfastSettings, _ app: AppSettings
    ) throws -> DrillOptions {
        func required(_ name: String) throws -> String {
            guard let value = arguments.value(name) else { throw UsageError("--\(name) is needed") }
            return value
        }
        var drill = DrillOptions(scenario: scenario)
        drill.app = app.id.rawValue
        drill.simulator = try required("simulator")
        drill.key = try required("key")
        _ = try required("gateway")
        drill.gateways = arguments.values("gateway")
        drill.operations = arguments.values("operations")
        guard drill.operations.count == drill.gateways.count else {
            throw UsageError("give --operations once for each --gateway, in the same order")
        }
        drill.control = arguments.value("control").map(StackControl.init)
        if scenario.needsControl, drill.control == nil {
            throw UsageError("--control is needed: \(scenario.name) breaks more than the simulator")
        }
        drill.seconds = try arguments.integer("seconds", in: 1...3600) ?? scenario.seconds
        drill.rate = try arguments.integer("rate", in: 1...5000) ?? drill.rate
        drill.accounts = try arguments.integer("accounts", in: 1...100_000) ?? scenario.accounts
        drill.seed = try arguments.integer("seed", in: 0...UInt64.max) ?? drill.seed
        drill.isQuiet = arguments.has("json")
        drill.bounds.propagation = .seconds(try arguments.integer("propagation", in: 1...600) ?? 5)
        drill.bounds.told = .seconds(try arguments.integer("told", in: 1...3600) ?? 10)
        drill.bounds.found = .seconds(try arguments.integer("found", in: 1...3600) ?? 45)
        drill.bounds.recovery = .seconds(try arguments.integer("recovery", in: 1...3600) ?? 60)
        drill.bounds.slack = .seconds(try arguments.integer("slack", in: 1...600) ?? 1)
        drill.bounds.setApple(
            by: settings.appleHealth,
            patience: scenario.appleHangs ? settings.appStoreAPI.http.totalTimeout : .zero)
        drill.bounds.hold = app.policy.holdBound
        drill.bounds.liveFor = settings.cache.liveFor
        return drill
    }
}
