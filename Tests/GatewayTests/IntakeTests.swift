import Broker
import Entitlements
import Glibc
import HTTP
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite("Intake", .timeLimit(.minutes(6)))
struct IntakeTests {
    private func problem(_ response: HTTPClientResponse) throws -> String {
        #expect(response.headers["Content-Type"] == "application/problem+json")
        let json = try JSONValue.parse(response.body)
        #expect(json["status"]?.int64 == Int64(response.status))
        #expect(json["correlation"]?.string == response.headers["Correlation-ID"])
        return json["type"]?.string ?? ""
    }

    @Test("Invariant 1: 200 means that the body lies in the work queue and in the ledger")
    func whatAppleSignedIsQueued() async throws {
        try await withGateway(RabbitMQServer.shared()) { gateway in
            let body = try Sender.trusted.get().body("u-1", padding: 12_000)
            let response = try await gateway.post(body, headers: ["X-Correlation-ID": "call-7"])
            #expect(response.status == 200)
            #expect(response.headers["Correlation-ID"] == "call-7")
            let deliveries = try await gateway.takeApplied()
            let message = try #require(deliveries.first?.message)
            #expect(deliveries.count == 1)
            #expect(message.body == body)
            #expect(message.messageID == "u-1")
            #expect(message.headers["app"] == "demo")
            #expect(message.headers["environment"] == "sandbox")
            #expect(message.headers["correlation"] == "call-7")
            #expect(message.headers["received-at"]?.hasSuffix("Z") == true)
            #expect(message.headers["spooled"] == nil)
            let ledger = try await gateway.inspector.readLedger(limit: 1)
            #expect(ledger.first?.message.body == body)
            #expect(gateway.spool.pending == 0)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test("Invariant 7: a body of one environment at the other's address lands in its own, and is counted")
    func theBodySaysWhichEnvironment() async throws {
        try await withGateway(RabbitMQServer.shared()) { gateway in
            let sender = try Sender.trusted.get()
            #expect(try await gateway.post(sender.body("u-1"), to: "/apple/demo/production").status == 200)
            #expect(try await gateway.post(sender.body("u-2", environment: "Production")).status == 200)
            #expect(
                try await gateway.post(sender.body("u-3", environment: "Production"), to: "/apple/other/production")
                    .status == 200)
            let messages = try await gateway.takeApplied().map(\.message)
            let environments = messages.map { $0.headers["environment"] ?? "" }
            let addresses = messages.map { $0.headers["address"] ?? "" }
            #expect(environments == ["sandbox", "production", "production"])
            #expect(addresses == ["production", "sandbox", ""])
            #expect(gateway.counter("holdfast_intake_wrong_environment_total", ["app": "demo"]) == 2)
            #expect(gateway.counter("holdfast_intake_wrong_environment_total", ["app": "other"]) == 0)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test("Invariant 6: what nobody vouches for is refused, counted and sampled, and never queued")
    func forgedBodiesAreRefused() async throws {
        try await withGateway(RabbitMQServer.shared()) { gateway in
            let sender = try Sender.trusted.get()
            let foreign = try await gateway.post(Sender.stranger.get().body("u-1"))
            #expect(foreign.status == 403)
            #expect(try problem(foreign) == "urn:holdfast:problem:refused-notification")

            var tampered = try sender.body("u-2", padding: 200)
            let index = try #require(tampered.firstIndex(of: UInt8(ascii: ".")))
            tampered[index + 40] = tampered[index + 40] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(try await gateway.post(tampered).status == 403)

            for malformed in ["", "[]", "{", "{\"signedPayload\":1}", "{\"signedPayload\":\"a.b\"}"] {
                let response = try await gateway.post(Array(malformed.utf8))
                #expect(response.status == 400, "\(malformed)")
                #expect(try problem(response) == "urn:holdfast:problem:malformed-notification")
            }
            #expect(try await gateway.takeApplied().isEmpty)
            #expect(gateway.spool.pending == 0)
            #expect(gateway.counter("holdfast_intake_refused_total", ["app": "demo", "reason": "notTrusted"]) == 1)
            #expect(gateway.counter("holdfast_intake_refused_total", ["app": "demo", "reason": "signature"]) == 1)
            #expect(gateway.counter("holdfast_intake_refused_total", ["app": "demo", "reason": "malformed"]) == 5)
            let samples = try JSONValue.parse(try await gateway.operations("/refused").body)["refused"]?.array ?? []
            #expect(samples.count == 7)
            #expect(samples.first?["reason"]?.string == "notTrusted")
            #expect(samples.last?["beginning"]?.string == "{\"signedPayload\":\"a.b\"}")
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test("Invariant 2: what cannot be judged now lies in the broker's quarantine, and nowhere else")
    func quarantineIsReal() async throws {
        let judge: IntakeJudge = { _, _ in .quarantine(reason: "undecidable", detail: "OpenSSL said no") }
        try await withGateway(RabbitMQServer.shared(), judge: judge) { gateway in
            #expect(try await gateway.post([1, 2, 3]).status == 200)
            let kept = try await gateway.inspector.take(gateway.broker.names.quarantine, limit: 10)
            #expect(kept.map(\.message.body) == [[1, 2, 3]])
            #expect(kept.first?.message.headers["reason"] == "undecidable")
            #expect(try await gateway.takeApplied().isEmpty)
            #expect(
                gateway.counter("holdfast_intake_quarantined_total", ["app": "demo", "reason": "undecidable"]) == 1)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test func addressesThatDoNotExistAreSaidNotTo() async throws {
        try await withGateway(RabbitMQServer.shared()) { gateway in
            let body = try Sender.trusted.get().body("u-1")
            let unknown = try await gateway.post(body, to: "/apple/nobody/sandbox")
            #expect(unknown.status == 404)
            #expect(try problem(unknown) == "urn:holdfast:problem:unknown-app")
            #expect(try await gateway.post(body, to: "/apple/demo/xcode").status == 404)
            #expect(try await gateway.post(body, to: "/apple/demo/sandbox/").status == 404)
            let get = try await gateway.get("/apple/demo/sandbox")
            #expect(get.status == 405)
            #expect(get.headers["Allow"] == "POST")
            #expect(try problem(get) == "urn:holdfast:problem:method-not-allowed")
            let large = try await gateway.post([UInt8](repeating: 32, count: (256 << 10) + 1))
            #expect(large.status == 413)
            #expect(try await gateway.post([UInt8](repeating: 32, count: 256 << 10)).status == 400)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test func operatorsSeeWhatWorks() async throws {
        try await withGateway(RabbitMQServer.shared()) { gateway in
            #expect(try await gateway.operations("/healthz").status == 200)
            let ready = try await gateway.operations("/readyz")
            #expect(ready.status == 200)
            let json = try JSONValue.parse(ready.body)
            #expect(json["ready"]?.bool == true && json["broker"]?.bool == true && json["spool"]?.bool == true)
            #expect(json["spooledRecords"]?.int64 == 0)
            _ = try await gateway.post(Sender.trusted.get().body("u-1"))
            let metrics = String(decoding: try await gateway.operations("/metrics").body, as: UTF8.self)
            #expect(
                metrics.contains(
                    "holdfast_intake_acknowledged_total{app=\"demo\",environment=\"sandbox\",stored=\"broker\"} 1"))
            #expect(try await gateway.operations("/elsewhere").status == 404)
            // Operators' paths are not on the listener that faces the internet.
            #expect(try await gateway.get("/metrics").status == 404)
            try await gateway.inspector.deleteTopology()
        }
    }

    @Test func aSlowSenderIsCutAndDisturbsNobody() async throws {
        try await withGateway(
            RabbitMQServer.shared(),
            { settings, _ in
                settings.http.bodyDeadline = .milliseconds(300)
                settings.http.lingerDeadline = .milliseconds(50)
            }
        ) { gateway in
            let port = gateway.gateway.server.boundPort
            async let slow = SlowSender.send(to: port)
            let sender = try Sender.trusted.get()
            for number in 0..<20 { #expect(try await gateway.post(sender.body("u-\(number)")).status == 200) }
            #expect(try await slow.hasPrefix("HTTP/1.1 408 "))
            #expect(try await gateway.takeApplied().count == 20)
            try await gateway.inspector.deleteTopology()
        }
    }

    // MARK: Without servers

    private func intake(
        broker: FakeSink, spool: FakeSink, metrics: Metrics = Metrics(), verdict: IntakeVerdict,
        turnedAway: @escaping NotificationIntake.TurnedAway = { _, _, _ in }
    ) -> NotificationIntake {
        NotificationIntake(
            apps: [AppID("demo")], judge: { _, _ in verdict },
            store: IntakeStore(broker: broker, spool: spool, log: .discarding), turnedAway: turnedAway,
            metrics: metrics, log: .discarding)
    }

    private let accepted = IntakeVerdict.accept(
        environment: .sandbox, notificationUUID: "u", notificationType: "TEST")

    private func receive(_ intake: NotificationIntake) async -> HTTPResponse {
        await intake.receive([1], app: AppID("demo"), environment: .sandbox, correlation: "c", peer: "192.0.2.1")
    }

    @Test("Invariant 2: whatever is answered with something else than 2xx is heard of, so that Apple's history is read")
    func whoeverIsTurnedAwayIsHeardOf() async throws {
        let (broker, spool) = (FakeSink(), FakeSink())
        let heard = Mutex<[StoreEnvironment]>([])
        func answer(_ verdict: IntakeVerdict) async -> Int {
            let intake = intake(broker: broker, spool: spool, verdict: verdict) { _, environment, _ in
                heard.withLock { $0.append(environment) }
            }
            return await receive(intake).status
        }
        let verdicts: [(IntakeVerdict, status: Int)] = [
            (.refuse(reason: "malformed", detail: "", isMalformed: true), 400),
            (.refuse(reason: "signature", detail: "", isMalformed: false), 403), (.later(detail: ""), 503),
        ]
        for (index, one) in verdicts.enumerated() {
            let status = await answer(one.0)
            #expect(status == one.status)
            let count = heard.withLock { $0.count }
            #expect(count == index + 1)
        }
        let taken = await answer(accepted)
        #expect(taken == 200)
        broker.set { $0.isAvailable = false }
        spool.set { $0.isAvailable = false }
        let unstored = await answer(accepted)
        #expect(unstored == 503)
        let all = heard.withLock { $0 }
        #expect(all == Array(repeating: StoreEnvironment.sandbox, count: 4))
    }

    @Test("Invariant 1: what the broker does not confirm goes to the spool, whatever the reason")
    func theSpoolStandsIn() async throws {
        let (broker, spool) = (FakeSink(), FakeSink())
        let intake = intake(broker: broker, spool: spool, verdict: accepted)
        #expect(await receive(intake).status == 200)
        broker.set { $0.isAvailable = false }
        #expect(await receive(intake).status == 200)
        broker.set {
            $0.isAvailable = true
            $0.isHealthy = false
        }
        #expect(await receive(intake).status == 200)
        #expect(broker.stored.count == 1)
        check(broker.state.withLock { $0.attempts } == 2)
        #expect(spool.stored.count == 2)
    }

    @Test("Invariant 1: without broker and spool there is no 200")
    func nothingIsPromisedThatCannotBeKept() async throws {
        let (broker, spool) = (FakeSink(), FakeSink())
        let metrics = Metrics()
        let intake = intake(broker: broker, spool: spool, metrics: metrics, verdict: accepted)
        broker.set { $0.isHealthy = false }
        spool.set { $0.isAvailable = false }
        let response = await receive(intake)
        #expect(response.status == 503)
        #expect(response.headers["Retry-After"] == "30")
        #expect(metrics.counter("holdfast_intake_unstored_total", "", labels: ["app": "demo"]).value == 1)
    }

    @Test("Invariant 2: what cannot be judged now is kept in quarantine with its reason")
    func theUndecidableIsKept() async throws {
        let (broker, spool) = (FakeSink(), FakeSink())
        let intake = intake(
            broker: broker, spool: spool, verdict: .quarantine(reason: "undecidable", detail: "OpenSSL said no"))
        #expect(await receive(intake).status == 200)
        broker.set { $0.isHealthy = false }
        #expect(await receive(intake).status == 200)
        for message in [broker.stored.first, spool.stored.first] {
            #expect(message?.destination == .quarantine)
            #expect(message?.headers["reason"] == "undecidable")
            #expect(message?.headers["environment"] == "sandbox")
        }
    }

    @Test func tooManyUnknownChainsAreToldToComeBack() async throws {
        let intake = intake(broker: FakeSink(), spool: FakeSink(), verdict: .later(detail: "busy"))
        let response = await receive(intake)
        #expect(response.status == 503)
        #expect(response.headers["Retry-After"] == "30")
    }

    @Test(
        arguments: [
            (["X-Correlation-ID": "abc-1"], "abc-1"),
            (
                ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
                "0af7651916cd43dd8448eb211c80319c"
            ),
        ] as [(HTTPHeaders, String)])
    func aGivenCorrelationIsKept(_ headers: HTTPHeaders, _ expected: String) {
        #expect(Correlation.id(of: HTTPRequestHead(method: "GET", path: "/", headers: headers)) == expected)
    }

    @Test(
        arguments: [
            [:], ["X-Correlation-ID": "a b"], ["X-Correlation-ID": ""],
            ["X-Correlation-ID": String(repeating: "a", count: 65)],
            ["traceparent": "00-00000000000000000000000000000000-b7ad6b7169203331-01"], ["traceparent": "00-1-2-3"],
        ] as [HTTPHeaders])
    func aHarmfulCorrelationIsReplaced(_ headers: HTTPHeaders) {
        let id = Correlation.id(of: HTTPRequestHead(method: "GET", path: "/", headers: headers))
        #expect(id.utf8.count == 32)
        #expect(Correlation.isValid(id))
    }

    @Test func samplesAreARing() {
        let samples = RefusalSamples(capacity: 3)
        for number in 0..<5 {
            samples.add(
                time: WallClock.system.now(), app: "demo", reason: "\(number)", detail: "", peer: "", correlation: "",
                body: [UInt8](repeating: 65, count: 10_000))
        }
        #expect(samples.samples.map(\.reason) == ["2", "3", "4"])
        check(samples.samples.allSatisfy { $0.beginning.utf8.count == 512 && $0.size == 10_000 })
    }
}
