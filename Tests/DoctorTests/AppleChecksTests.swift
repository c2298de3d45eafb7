import AppStore
import Glibc
import HTTP
import Runtime
import Simulator
import TestSupport
import Testing
import Time

@testable import Holdfast

/// What concerns Apple, against a simulated App Store.
@Suite struct AppleChecksTests {
    /// A store of the test's own, and settings with a key for it.
    private final class Store: Sendable {
        let examinee: Examinee
        let simulator: Simulator
        let url: String
        private let loops: [EventLoop]

        /// `members` gives further members of the settings file; `key` the name of the key file, if not the store's own.
        /// `sandbox` is a store that stands in for the sandbox, with the same keys as this one.
        init(notify: String?, members: String = "", key: String? = nil, sandbox: Store? = nil) async throws {
            let folder = try sandbox?.folder ?? TemporaryFolder("doctor-store")
            loops = [try EventLoop(name: "store"), try EventLoop(name: "store-http")]
            let identity = try SimulatorIdentity(inFolder: folder.path, now: WallClock.system.now())
            let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
            simulator = Simulator(
                settings: SimulatorSettings(store: StoreSettings(), catalog: catalog, notificationURL: notify),
                identity: identity, loop: loops[0], serverLoops: [loops[1]], log: .discarding)
            try await simulator.start()
            url = "http://127.0.0.1:\(simulator.boundPort)"
            let file = key ?? SimulatorIdentity.keyFile(in: folder.path)
            examinee = try Examinee(
                app: """
                    "serverAPI":{"keyId":"SIMULATOR1","issuerId":"\(SimulatorIdentity.defaultIssuerID)",\
                    "privateKeyFile":"\(file)"}
                    """,
                #","appStore":{"roots":["\#(SimulatorIdentity.rootFile(in: folder.path))"]}"#,
                #","appStoreAPI":{"productionURL":"\#(url)","sandboxURL":"\#(sandbox?.url ?? url)"}"#, members)
            self.folder = folder
        }

        private let folder: TemporaryFolder

        /// Sets how the store's Server API behaves.
        func behave(_ api: String) async throws {
            let loop = try EventLoop(name: "control")
            defer { loop.stop() }
            let client = HTTPClient(loop: loop)
            let body = Array(#"{"api":{\#(api)}}"#.utf8)
            let answer = try await client.send(HTTPClientRequest(.put, "\(url)/control/behaviour", body: body))
            await client.close()
            guard answer.status == 200 else { throw CommandError(String(decoding: answer.body, as: UTF8.self)) }
        }

        func stop() async {
            await simulator.drain()
            for loop in loops { loop.stop() }
        }
    }

    private static let nobodyElse = #","broker":{"port":1},"redis":{"port":1}"#

    @Test func theWholeLineIsFineAndTheTestNotificationArrives() async throws {
        let rabbitMQ = try await RabbitMQServer.shared()
        try await RedisServer.withOwn { redis in
            let (gateway, operations, consumer) = (try freePort(), try freePort(), try freePort())
            let store = try await Store(
                notify: "http://127.0.0.1:\(gateway)/apple/demo/production",
                members: """
                    ,"broker":{"port":\(rabbitMQ.port),"prefix":"\(RabbitMQServer.uniquePrefix("doctor"))"},\
                    "redis":{"port":\(redis.port)},"keys":{"backend":{"secret":"d0c7e1f2a3b4958677aabbcc"}},\
                    "gateway":{"http":{"address":"127.0.0.1:\(gateway)"},"operations":{"address":"127.0.0.1:\(operations)"}},\
                    "consumer":{"operations":{"address":"127.0.0.1:\(consumer)"}},"spool":{"folder":"\(
                        try TemporaryFolder("doctor-spool").path)"}
                    """)
            let settings = store.examinee.settings
            let log = store.examinee.folder.file("log")
            let processes = [
                try ChildProcess.holdfast(["gateway", "--settings", settings], log: log),
                try ChildProcess.holdfast(["consumer", "--settings", settings], log: log),
            ]
            // The doctor itself says when all is up.
            var result = try await store.examinee.examine("--no-test")
            let isUp = try await eventually {
                result = try await store.examinee.examine("--no-test")
                return ["gateway", "consumer", "rabbitmq consumers", "backfill, demo"].allSatisfy {
                    result[$0].status == "fine"
                }
            }
            #expect(isUp, "\(result.output)")
            result = try await store.examinee.examine()
            #expect(result.exitCode == 0, "\(result.output)")
            let notFine = result.lines.filter { $0.value.status != "fine" }.map(\.key)
            // Nothing was sold yet, and nothing is encrypted.
            let expected: Set = ["trusted roots", "products, demo", "arrivals, demo", "certificates in use"]
            #expect(Set(notFine) == expected, "\(result.output)")
            let arrived = result["test, demo production"].detail
            #expect(arrived.contains("Apple says SUCCESS, and the ledger has it"))
            #expect(result["gateway"].detail.contains("spooledRecords 0"))

            let text = try await store.examinee.text("--environment", "production")
            #expect(text.status == 0)
            #expect(text.output.contains("\nfine         rabbitmq topology       10 exchanges and queues"))
            #expect(text.output.contains("\n35 checks: 31 fine, 3 warnings, 1 not checked\n"))
            for process in processes { _ = await process.terminate() }
            await store.stop()
        }
    }

    @Test func anAppWithoutAURLIsToldWhereToGiveOne() async throws {
        let store = try await Store(notify: nil, members: Self.nobodyElse)
        let result = try await store.examinee.examine("--environment", "sandbox")
        await store.stop()
        let line = result["test, demo sandbox"]
        #expect(line.status == "wrong")
        #expect(line.detail == "App Store Connect has no URL for notifications (sandbox)")
        #expect(line.remedies.first?.hasSuffix("version 2: https://YOUR-HOST/apple/demo/sandbox") == true)
        #expect(result["apple, demo sandbox"].status == "fine")
        #expect(result["key, demo"].detail == "SIMULATOR1, on P-256")
        #expect(result["clock, apple"].detail == "ours and Apple's agree")
        #expect(result.lines["apple, demo production"] == nil)
    }

    @Test func aNotificationThatCannotBeDeliveredSaysWhy() async throws {
        let nobody = try await Store(notify: "http://127.0.0.1:1/apple", members: Self.nobodyElse)
        let refused = try await nobody.examinee.examine("--environment", "production")
        await nobody.stop()
        #expect(refused["test, demo production"].status == "wrong")
        #expect(
            refused["test, demo production"].detail == "Apple could not deliver it: it could not connect (SOCKET_ISSUE)"
        )

        // Another store knows no such path.
        let elsewhere = try await Store(notify: nil)
        let wrongPath = try await Store(notify: "\(elsewhere.url)/apple/demo/production", members: Self.nobodyElse)
        let answered = try await wrongPath.examinee.examine("--environment", "production")
        await wrongPath.stop()
        await elsewhere.stop()
        #expect(
            answered["test, demo production"].detail
                == "Apple could not deliver it: the answer was not 2xx (UNSUCCESSFUL_HTTP_RESPONSE_CODE)")
    }

    @Test func aKeyThatIsNotAppsIsRefusedAndOneOfAnotherKindIsNamed() async throws {
        let other = try Examinee()
        let stranger = try other.write(try SigningKey().pem(), to: "AuthKey_STRANGER12.p8")
        let store = try await Store(notify: nil, members: Self.nobodyElse, key: stranger)
        let refused = try await store.examinee.examine("--environment", "production")
        await store.stop()
        #expect(refused["apple, demo production"].status == "wrong")
        #expect(
            refused["apple, demo production"].detail == "Apple does not take the key SIMULATOR1 (401, and no reason)")
        #expect(refused["apple, demo production"].remedies.count == 4)
        #expect(refused["test, demo production"].detail == "Apple does not take the key")
        #expect(
            refused["key, demo"].detail
                == "\(stranger) is named for the key STRANGER12, and apps.demo.serverAPI.keyId is SIMULATOR1")

        let path = other.folder.file("rsa.p8")
        let made = try await Command.run(
            "/usr/bin/openssl", ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", path])
        #expect(made.status == 0)
        let kind = try await Store(notify: nil, members: Self.nobodyElse, key: path)
        let named = try await kind.examinee.examine("--environment", "production", "--no-network")
        await kind.stop()
        #expect(named["key, demo"].status == "wrong")
        #expect(named["key, demo"].detail.hasPrefix("apps.demo.serverAPI.privateKeyFile: the key is neither on P-256"))
        #expect(named["settings"].status == "wrong")
    }

    @Test("Pitfall 24: an app that was never released is told from a key that is wrong")
    func anAppThatWasNeverReleasedIsNotCalledWrong() async throws {
        let sandbox = try await Store(notify: nil)
        let production = try await Store(notify: nil, members: Self.nobodyElse, sandbox: sandbox)
        try await production.behave(#""refusesTokens":true"#)
        let result = try await production.examinee.examine("--no-test")
        await production.stop()
        await sandbox.stop()
        #expect(result["apple, demo sandbox"].status == "fine")
        #expect(result["apple, demo production"].status == "warning")
        #expect(
            result["apple, demo production"].detail
                == "production does not take the key SIMULATOR1, and the sandbox does: has the app ever been released?")
    }

    @Test(arguments: [(90_000, "behind"), (-90_000, "ahead of")])
    func aClockThatDiffersFromApplesIsWrong(_ skew: Int, _ direction: String) async throws {
        let store = try await Store(notify: nil, members: Self.nobodyElse)
        try await store.behave(#""clockSkewMilliseconds":\#(skew)"#)
        let result = try await store.examinee.examine("--no-test", "--environment", "production")
        await store.stop()
        #expect(result["clock, apple"].status == "wrong")
        // Apple's seconds are whole ones.
        check(
            (88...90).contains { seconds in
                result["clock, apple"].detail.hasPrefix("ours is \(seconds)")
            }, result["clock, apple"].detail)
        #expect(result["clock, apple"].detail.hasSuffix(" s \(direction) Apple's"))
        #expect(result["apple, demo production"].status == "fine")
    }

    @Test func anAppleThatIsNotThereIsUnreachable() async throws {
        let store = try await Store(notify: nil)
        await store.stop()
        let result = try await store.examinee.examine(
            "--skip", "rabbitmq", "--skip", "redis", "--environment", "production")
        #expect(result.exitCode == 3)
        #expect(result["apple, demo production"].status == "unreachable")
        #expect(result["apple, demo production"].detail.contains(store.url))
        #expect(result["test, demo production"].detail == "Apple does not answer")
    }

    @Test func whatAnotherSystemTookIsMissedInTheLedger() async throws {
        let rabbitMQ = try await RabbitMQServer.shared()
        let taker = try Taker()
        try await taker.start()
        let store = try await Store(
            notify: taker.url,
            members: #","broker":{"port":\#(rabbitMQ.port),"prefix":"\#(RabbitMQServer.uniquePrefix("doctor"))"}"#)
        let result = try await store.examinee.examine(
            "--timeout", "1", "--environment", "production", "--skip", "redis")
        await store.stop()
        await taker.stop()
        let line = result["test, demo production"]
        #expect(line.status == "wrong")
        #expect(line.detail.hasPrefix("Apple says that it was delivered, and it is not in the ledger"))
        #expect(line.remedies.first?.hasPrefix("Did another system take it?") == true)
    }

    @Test func aClockThatIsWrongIsNamed() async throws {
        let skew = ClockSkew(earliest: .seconds(89), latest: .seconds(91))
        let wrong = skew.finding(comparedWith: "Apple's", warningAt: .seconds(4), wrongAt: .seconds(30))
        #expect(wrong.verdict == .wrong)
        #expect(wrong.sentence == "ours is 89 s behind Apple's")
        let slight = ClockSkew(earliest: .seconds(-7), latest: .seconds(-5))
        let warning = slight.finding(comparedWith: "Apple's", warningAt: .seconds(4), wrongAt: .seconds(30))
        #expect(warning.verdict == .warning)
        #expect(warning.sentence == "ours is 5 s ahead of Apple's")
        let none = ClockSkew(earliest: .seconds(-1), latest: .seconds(1))
        #expect(none.finding(comparedWith: "Apple's", warningAt: .seconds(4), wrongAt: .seconds(30)).verdict == .fine)
    }

    @Test(arguments: [
        "TIMED_OUT", "TLS_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE", "SOCKET_ISSUE", "UNSUPPORTED_CHARSET",
        "INVALID_RESPONSE", "PREMATURE_CLOSE", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "OTHER",
    ])
    func everyResultOfASendAttemptHasItsOwnSentenceAndRemedy(_ word: String) throws {
        let meaning = try #require(SendAttemptResult.meanings[word])
        check(SendAttemptResult.meanings.values.count { $0 == meaning } == 1)
        let finding = SendAttemptResult(word).finding(url: "https://x/apple/demo/production")
        #expect(finding.sentence.hasSuffix("(\(word))"))
        #expect(finding.remedies.count == 2)
        #expect(SendAttemptResult("BRAND_NEW").finding(url: "").sentence.contains("BRAND_NEW"))
    }

    private func freePort() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw SystemError(call: "socket") }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(socket, generic, length) == 0 ? getsockname(socket, generic, &length) : -1
            }
        }
        guard status == 0 else { throw SystemError(call: "bind") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// Answers 200 to whatever comes, and keeps nothing.
private final class Taker: Sendable {
    private struct Handler: HTTPHandler {
        func admit(_ head: HTTPRequestHead) -> HTTPAdmission? { .body(limit: 1 << 20) }
        func respond(to request: HTTPRequest) -> HTTPReply { .now(HTTPResponse(status: 200)) }
    }

    private let loop: EventLoop
    private let server: HTTPServer
    var url: String { "http://127.0.0.1:\(server.boundPort)/" }

    init() throws {
        loop = try EventLoop(name: "taker")
        var settings = HTTPServerSettings(name: "taker", address: "127.0.0.1:0")
        settings.bodyBytes = 1 << 20
        server = HTTPServer(settings: settings, loops: [loop], handler: Handler(), metrics: Metrics(), log: .discarding)
    }

    func start() async throws { try await server.start() }

    func stop() async {
        await server.drain()
        loop.stop()
    }
}
