import Runtime
import TestSupport
import Testing

@testable import Broker

/// Each wrong state of RabbitMQ is made for real.
@Suite struct BrokerChecksTests {
    private func examinee(_ server: RabbitMQServer, _ prefix: String, _ more: String = "") throws -> Examinee {
        try Examinee(#","broker":{"port":\#(server.port),"prefix":"\#(prefix)"\#(more)}"#)
    }

    private func settings(_ server: RabbitMQServer, _ prefix: String) -> BrokerSettings {
        var settings = BrokerSettings()
        (settings.port, settings.prefix, settings.topologySettleTime) = (server.port, prefix, .zero)
        return settings
    }

    @Test func anEmptyBrokerIsFineAndStaysEmpty() async throws {
        let server = try await RabbitMQServer.shared()
        let prefix = RabbitMQServer.uniquePrefix("doctor")
        let result = try await examinee(server, prefix).examine("--skip", "redis")
        #expect(result["rabbitmq"].status == "fine")
        #expect(result["rabbitmq"].detail.hasPrefix("RabbitMQ 3."))
        #expect(result["rabbitmq topology"].detail == "nothing is there yet; the first gateway or consumer makes it")
        #expect(result["rabbitmq permissions"].status == "fine")
        #expect(result["rabbitmq intake"].detail == "open: no alarm is on")
        #expect(result["rabbitmq consumers"].detail == "there is no \(prefix).apply yet")
        #expect(result["rabbitmq ledger"].detail == "there is no \(prefix).ledger yet")
        #expect(result["rabbitmq message size"].detail == "16 MiB at most")
        #expect(try await !server.control("list_queues", "name").contains(prefix))
        #expect(try await !server.control("list_exchanges", "name").contains(prefix))
    }

    @Test func whatDiffersFromTheSettingsIsNamedWithBothValues() async throws {
        let server = try await RabbitMQServer.shared()
        let prefix = RabbitMQServer.uniquePrefix("doctor")
        var other = settings(server, prefix)
        other.applyMaximumLength = 7
        other.ledgerMaximumAge = .seconds(60)
        let inspector = BrokerInspector(settings: other)
        try await inspector.declareTopology()

        let result = try await examinee(server, prefix).examine("--skip", "redis")
        #expect(result.exitCode == 1)
        let line = result["rabbitmq topology"]
        #expect(line.status == "wrong")
        let differences = line.detail.split(separator: "; ").map(String.init)
        #expect(differences.count == 2 + RetryLevel.allCases.count)
        #expect(differences.contains("queue \(prefix).apply has x-max-length 7, the settings ask for 1000000"))
        #expect(differences.contains("queue \(prefix).ledger has x-max-age 60s, the settings ask for 2592000s"))
        check(line.remedies.contains { $0.contains("rabbitmqctl delete_queue \(prefix).apply") })

        let same = try await examinee(server, prefix, #","applyMaximumLength":7,"ledgerMaximumAge":"60s""#)
            .examine("--skip", "redis")
        #expect(same["rabbitmq topology"].status == "fine", "\(same["rabbitmq topology"])")
        #expect(same["rabbitmq consumers"].status == "warning")
        #expect(same["rabbitmq ledger"].detail == "readable and empty")
    }

    @Test func everyDifferenceOfAQueueIsNamedAndWhatIsMissingToo() async throws {
        let server = try await RabbitMQServer.shared()
        let prefix = RabbitMQServer.uniquePrefix("doctor")
        let inspector = BrokerInspector(settings: settings(server, prefix))
        // A queue and an exchange that somebody made by hand.
        try await inspector.make(
            Topology.Queue(name: "\(prefix).quarantine", arguments: [("x-queue-type", .text("quorum"))]))
        try await inspector.make(Topology.Exchange(name: "\(prefix).intake", kind: "topic"))
        let differences = try await inspector.compareTopology()
        let ofQuarantine = differences.filter { $0.name == "\(prefix).quarantine" }.map(\.fault)
        #expect(
            ofQuarantine == [
                .argument("x-max-length", expected: "100000", actual: "none"),
                .argument("x-overflow", expected: "reject-publish", actual: "none"),
            ])
        #expect(
            differences.first
                == TopologyDifference(
                    .exchange, "\(prefix).intake", .argument("type", expected: "fanout", actual: "topic")))
        #expect(differences.contains(TopologyDifference(.exchange, "\(prefix).events", .missing)))
        #expect(differences.contains(TopologyDifference(.queue, "\(prefix).apply", .missing)))
        let made = try await inspector.queueStates().filter { $0.messages != nil }.map(\.name)
        #expect(made == ["\(prefix).quarantine"])
    }

    @Test func aLoginThatIsRefusedSaysByWhom() async throws {
        let server = try await RabbitMQServer.shared()
        let password = try await examinee(server, "x", #","password":"wrong""#).examine("--skip", "redis")
        #expect(password.exitCode == 1)
        #expect(
            password["rabbitmq"].detail == "127.0.0.1:\(server.port) does not take the user guest with this password")
        #expect(password["rabbitmq topology"].detail == "RabbitMQ refuses the login")
        let host = try await examinee(server, "x", #","virtualHost":"nowhere""#).examine("--skip", "redis")
        #expect(host["rabbitmq"].detail.contains("has no virtual host nowhere, or guest may not enter it"))
        #expect(host["rabbitmq"].remedies.first?.hasPrefix("rabbitmqctl add_vhost nowhere") == true)
    }

    @Test func aBrokerThatIsNotThereIsUnreachable() async throws {
        // Port 1 is nobody's.
        let result = try await Examinee(#","broker":{"port":1},"redis":{"port":1}"#).examine()
        #expect(result.exitCode == 3)
        #expect(result["rabbitmq"].status == "unreachable")
        #expect(result["rabbitmq"].detail.hasPrefix("127.0.0.1:1 does not answer: "))
        #expect(result["rabbitmq queues"].detail == "RabbitMQ does not answer")
        #expect(result["settings"].status == "fine")
    }

    @Test func whatTheUserMayNotDoIsNamedAndTheRemedyMendsIt() async throws {
        let server = try await RabbitMQServer.shared()
        let prefix = RabbitMQServer.uniquePrefix("doctor")
        let inspector = BrokerInspector(settings: settings(server, prefix))
        try await inspector.declareTopology()
        try await server.control("add_user", prefix, "pw")
        try await server.control("set_permissions", prefix, "^$", "\(prefix)\\.(apply|ledger)", "\(prefix)\\.apply")
        let examinee = try examinee(server, prefix, #","user":"\#(prefix)","password":"pw""#)
        let little = try await examinee.examine("--skip", "redis")
        #expect(little["rabbitmq topology"].status == "wrong")
        #expect(little["rabbitmq topology"].detail.contains("\(prefix) may not configure exchange \(prefix).intake"))
        #expect(
            little["rabbitmq permissions"].detail
                == "\(prefix) may not: write \(prefix).intake, write \(prefix).events, "
                + "write amq.default, read \(prefix).ledger, read \(prefix).quarantine")

        let remedy = try #require(little["rabbitmq permissions"].remedies.first)
        let words = remedy.split(separator: " ").dropFirst().map { $0.filter { $0 != "'" } }
        #expect(words.count == 7)
        try await server.control(words[0], words[1], words[2], words[3], words[4], words[5], words[6])
        let enough = try await examinee.examine("--skip", "redis")
        #expect(enough["rabbitmq permissions"].status == "fine", "\(enough["rabbitmq permissions"])")
        #expect(enough["rabbitmq topology"].status == "fine", "\(enough["rabbitmq topology"])")
        // Asked for what it may do, it did nothing.
        check(try await inspector.queueStates().allSatisfy { $0.messages == 0 })
        try await server.control("delete_user", prefix)
    }

    @Test func aBrokerInAlarmIsWrongAndThatHangsIsUnreachable() async throws {
        try await RabbitMQServer.withOwn { server in
            try await server.raiseMemoryAlarm()
            let alarm = try await examinee(server, "x").examine("--skip", "redis")
            #expect(alarm["rabbitmq"].status == "fine")
            #expect(alarm["rabbitmq intake"].status == "wrong")
            #expect(
                alarm["rabbitmq intake"].detail
                    == "blocked by an alarm: low on memory. Notifications go to the spool and are acknowledged")
            for name in ["rabbitmq message size", "rabbitmq permissions"] {
                #expect(alarm[name].status == "notChecked")
                #expect(alarm[name].detail == "RabbitMQ takes nothing now")
            }
            try await server.pause()
            let hanging = try await examinee(server, "x", #","connectTimeout":"500ms""#).examine("--skip", "redis")
            try await server.resume()
            #expect(hanging.exitCode == 3)
            #expect(hanging["rabbitmq"].status == "unreachable")
            #expect(hanging["rabbitmq"].detail.contains("takes connections and does not answer"))
        }
    }
}

extension BrokerInspector {
    fileprivate func make(_ queue: Topology.Queue) async throws {
        try await run { connection throws(BrokerError) in try connection.declare(queue) }
    }

    fileprivate func make(_ exchange: Topology.Exchange) async throws {
        try await run { connection throws(BrokerError) in try connection.declare(exchange) }
    }
}
