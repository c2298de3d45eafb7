import AppStore
import Glibc
import HTTP
import Runtime
import Simulator
import Time

/// `holdfast simulator`: a fake App Store on this machine.
enum SimulatorCommand {
    static let summary = "plays the App Store: accounts, a fast clock, signed notifications, the Server API, outages"
    static let help = """
        usage: holdfast simulator --folder DIR --storekit FILE [OPTIONS]

        Plays the App Store. Accounts buy, renew, cancel, fail to pay, recover and are refunded; notifications are
        signed with a root of its own and sent as Apple sends them; the App Store Server API answers on the same port.

          --folder DIR         where its certificates and API key are kept; made if missing
                               root.pem is the root to trust, AuthKey_SIMULATOR1.p8 the Server API's key
          --storekit FILE      the products: an Xcode StoreKit configuration file
          --listen ADDRESS     default 127.0.0.1:8090; port 0 takes a free one
          --notify URL         where notifications go; without it none are sent. Given several times, the first that
                               accepts a connection gets it, as behind a load balancer
          --environment NAME   production (default) or sandbox
          --bundle-id ID       default com.example.demo
          --app-apple-id N     default 1234567890
          --speed N            default 1; see below
          --connections N      notifications under way at once, default 16
          --send-timeout S     seconds that a notification may take, default 10
          --ca-file FILE       PEM roots to trust when --notify is https; default the system's
          --seed N             decides every id and every random choice; default the time of the start
          --log-level LEVEL    debug, info (default), warning or error

        The clock is the real one, and every length of time is divided by --speed, as Apple's sandbox does it: a month
        (30 days) lasts 30 seconds at --speed 86400. So do grace (16 days), billing retry (60 days), the day by which
        a renewal is charged early, and the waits before Apple tries a notification again (1, 12, 24, 48 and 72 hours
        in production; sandbox tries once).

        Accounts live in memory: a new start is a new store, with the same certificates and key.

        The Server API, under /inApps and /groups, wants tokens signed with AuthKey_SIMULATOR1.p8, key id SIMULATOR1,
        issuer \(SimulatorIdentity.defaultIssuerID). Every endpoint is there but those of retention messaging; groups
        and seats are in the sandbox only, as Apple's are. Errors carry Apple's numbers and sentences. Of six errors
        Apple's number is not known: those end in 99xx.

        The control API, under /control, answers this machine only; GET /control lists it. For example:

          curl -d '{}' http://127.0.0.1:8090/control/accounts
          curl -d '{"productId":"demo.premium.monthly"}' http://127.0.0.1:8090/control/accounts/ACCOUNT/buy
          curl -d '{"count":1000,"connections":64}' http://127.0.0.1:8090/control/burst
          curl -X PUT -d '{"api":{"dark":true}}' http://127.0.0.1:8090/control/behaviour

        What else an account can do: cancel, resume, change, payment ({"fails":true,"grace":true}), refund,
        reverse-refund, request-refund, decline-refund, share, revoke, raise-price, consent, extend, change-seats,
        refund-seats, unclaim-seats, rescind-consent, app-transaction ({"exists":false}) and notify, which sends any
        type: {"type":"PRICE_CHANGE"}, {"type":"TOMORROWS_TYPE","object":"tomorrowInfo"}. buy takes offerId, quantity,
        "outsideApp":true (no appAccountToken) and "seats":5 with "invitationManagement".

        Behaviours of sending: slowMilliseconds, dark, duplicatePercent, reorderMilliseconds (each notification waits a
        random time of up to this), losePercent (never sent, not tried again).
        Behaviours of the Server API:
          slowMilliseconds, dark (never answered), losePercent, dropPercent (connection closed), truncatePercent (the
          body breaks off)
          failStatus (any status, no body), failCode (any of Apple's errors, such as 5000001 or 4040006), failPercent,
          failFirst (only so many fail)
          outages, a list of {"kind": hang, reset (connection closed), error or slow, "status": 500,
          "milliseconds": 6000, "endpoints": ["statuses", …] (all when left out), "percent": 100, "inSeconds": 0,
          "forSeconds": …}
          malformed ("appAppleId" or "environment": what is wrong in history pages)
          clockSkewMilliseconds (its Date field, and its judgement of tokens), refusesTokens (401 to all)
          limits (Apple's: 50, 20, 10 and 1 requests a second by group of endpoints, a tenth in the sandbox),
          limitPercent (of those), limitWindowMilliseconds (default 1000; Apple counts by the hour), ratePerSecond (to
          all endpoints together); beyond them 429 with Retry-After in UNIX milliseconds
        """

    private static let options: Set<String> = [
        "folder", "storekit", "listen", "notify", "environment", "bundle-id", "app-apple-id", "speed", "connections",
        "send-timeout", "ca-file", "seed", "log-level",
    ]

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: options)
        guard arguments.operands.isEmpty else { throw UsageError("\(arguments.operands[0]) is one word too many") }
        guard let folder = arguments.value("folder") else { throw UsageError("--folder is missing") }
        let log = Log(part: "simulator", minimum: try logLevel(arguments))
        let settings = try settings(arguments)
        let identity = try SimulatorIdentity(inFolder: folder, now: WallClock.system.now())
        let loop = try EventLoop(name: "simulator")
        let serverLoop = try EventLoop(name: "simulator-http")
        defer {
            loop.stop()
            serverLoop.stop()
        }
        let simulator = Simulator(
            settings: settings, identity: identity, loop: loop, serverLoops: [serverLoop], log: log)
        try await ServiceGroup([simulator], log: log).run(until: ProcessSignal.ofThisProcess()) {
            log.info(
                "the store is open",
                [
                    "control": "http://127.0.0.1:\(simulator.boundPort)/control",
                    "root": .init(SimulatorIdentity.rootFile(in: folder)),
                    "key": .init(SimulatorIdentity.keyFile(in: folder)),
                    "notify": .init(settings.notificationURL ?? "nobody"),
                ])
        }
        return 0
    }

    private static func settings(_ arguments: CommandArguments) throws -> SimulatorSettings {
        guard let path = arguments.value("storekit") else { throw UsageError("--storekit is missing") }
        let catalog: Catalog
        do {
            catalog = try StoreKitFile.parse(try File.bytes(at: path, limit: 4 << 20))
        } catch {
            throw UsageError("\(path): \(error)")
        }
        let environment: StoreSettings.Environment
        switch arguments.value("environment") ?? "production" {
        case "production": environment = .production
        case "sandbox": environment = .sandbox
        default: throw UsageError("--environment takes production or sandbox")
        }
        guard let speed = Double(arguments.value("speed") ?? "1"), (0.001...1_000_000_000).contains(speed) else {
            throw UsageError("--speed takes a number from 0.001 to 1000000000")
        }
        let urls = arguments.values("notify")
        for url in urls where !url.hasPrefix("http://") && !url.hasPrefix("https://") {
            throw UsageError("--notify takes an http or https URL")
        }
        let seed = try arguments.integer("seed", in: 0...UInt64.max)
        let store = StoreSettings(
            bundleID: arguments.value("bundle-id") ?? "com.example.demo",
            appAppleID: try arguments.integer("app-apple-id", in: 1...Int64.max) ?? 1_234_567_890,
            environment: environment, speed: speed, seed: seed ?? UInt64(max(0, WallClock.system.now().milliseconds)))
        return SimulatorSettings(
            store: store, catalog: catalog, address: arguments.value("listen") ?? "127.0.0.1:8090",
            notificationURL: urls.first, otherNotificationURLs: Array(urls.dropFirst()),
            connections: try arguments.integer("connections", in: 1...1024) ?? 16,
            sendTimeout: .seconds(try arguments.integer("send-timeout", in: 1...600) ?? 10),
            certificateAuthorityFile: arguments.value("ca-file"))
    }

    private static func logLevel(_ arguments: CommandArguments) throws -> Log.Level {
        let name = arguments.value("log-level") ?? "info"
        guard let level = Log.Level.allCases.first(where: { "\($0)" == name }) else {
            throw UsageError("--log-level takes debug, info, warning or error")
        }
        return level
    }
}
