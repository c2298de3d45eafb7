import AppStore
import Broker
import Entitlements
import Glibc
import HTTP
import Runtime
import TestSupport
import Testing
import Time

@testable import Consumer

/// The rows of the outcome table that are about revocation.
@Suite("Revoked certificates in the consumer", .timeLimit(.minutes(6))) struct RevocationTests {
    private let metrics = Metrics()

    private func handle(
        _ mode: RevocationSettings.Mode, _ body: [UInt8],
        responder: @escaping RevocationChecker.Transport
    ) async throws -> (DeliveryHandler.Result, ScriptedStore, RecordingPublisher) {
        var settings = RevocationSettings()
        settings.mode = mode
        let checker = RevocationChecker(
            settings: settings, clock: WallClock { Forge.now }, metrics: metrics, log: .discarding,
            transport: responder)
        let (store, publisher) = (ScriptedStore(.changed), RecordingPublisher())
        let handler = DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(),
            revocation: checker, store: store, publisher: publisher, names: BrokerNames(prefix: "t"),
            metrics: metrics, clock: WallClock { Forge.now }, log: .discarding)
        return (await handler.handle(.of(body)), store, publisher)
    }

    private static let silent: RevocationChecker.Transport = { _ throws(HTTPClientError) in
        throw HTTPClientError(.unreachable, "nobody there")
    }

    /// Says the same of everything it is asked about.
    private static func saying(_ status: OCSPResponse.Status) -> RevocationChecker.Transport {
        { request throws(HTTPClientError) in
            do {
                let authority = try Forge.authority.get()
                let question = try #require(OCSPQuestion(der: request.body))
                let isAboutLeaf = request.url == CertificateAuthority.Responders().intermediate
                let answers = question.certificates.map {
                    OCSPResponse.Single(
                        certificate: $0, status: status, thisUpdate: Forge.now, nextUpdate: Forge.now + .seconds(3600))
                }
                return HTTPClientResponse(
                    status: 200,
                    body: try OCSPResponse(answers: answers, producedAt: Forge.now, nonce: question.nonce)
                        .signed(by: isAboutLeaf ? authority.intermediate.key : authority.root.key))
            } catch { throw HTTPClientError(.failed, "\(error)") }
        }
    }

    @Test(arguments: [RevocationSettings.Mode.soft, .hard])
    func whatARevokedCertificateSignedIsQuarantined(mode: RevocationSettings.Mode) async throws {
        let body = try Forge.notification(lineage: "1")
        let (result, store, publisher) = try await handle(
            mode, body, responder: Self.saying(.revoked(at: Forge.now - .seconds(60), reason: nil)))
        #expect(result.settlement == .acknowledge)
        #expect(store.observations.isEmpty)
        let kept = try #require(publisher.published.first)
        #expect(publisher.published.count == 1)
        #expect(kept.routingKey == "t.quarantine")
        #expect(kept.message.body == body)
        #expect(kept.message.headers["reason"] == "revoked")
        #expect(kept.message.headers["reason-detail"]?.contains("was revoked at") == true)
    }

    @Test func whatWasSignedBeforeTheRevocationIsApplied() async throws {
        let (_, store, _) = try await handle(
            .hard, try Forge.notification(lineage: "1", signed: Forge.now - .seconds(120)),
            responder: Self.saying(.revoked(at: Forge.now - .seconds(60), reason: 4)))
        #expect(store.observations.count == 1)
    }

    @Test("Pitfall 7: in hard, an unreachable responder sends to a retry level, and intake goes on")
    func inHardAnUnreachableResponderSendsToARetryLevel() async throws {
        let (result, store, publisher) = try await handle(
            .hard, try Forge.notification(lineage: "1"), responder: Self.silent)
        #expect(result.settlement == .acknowledge)
        #expect(!result.isTroubled)
        #expect(store.observations.isEmpty)
        check(publisher.published.map(\.routingKey) == ["t.retry.1s"])
        #expect(metrics.exposition().contains(#"holdfast_consumer_retries_total{cause="revocation"} 1"#))
    }

    @Test("Pitfall 7: in soft, an unreachable responder keeps nobody from what was paid for")
    func inSoftAnUnreachableResponderKeepsNobody() async throws {
        let (_, store, publisher) = try await handle(
            .soft, try Forge.notification(lineage: "1"), responder: Self.silent)
        #expect(store.observations.count == 1)
        check(publisher.published.allSatisfy { $0.exchange == "t.events" })
        #expect(metrics.exposition().contains("holdfast_ocsp_checks_total{result=\"unavailable\"}"))
    }

    @Test func aNotificationWithoutEffectIsCheckedToo() async throws {
        let (_, _, publisher) = try await handle(
            .soft, try Forge.testNotification(), responder: Self.saying(.revoked(at: Forge.now, reason: 1)))
        check(publisher.published.map(\.routingKey) == ["t.quarantine"])
    }
}

/// The consumer on RabbitMQ and Redis, with OpenSSL's responders.
@Suite(
    "Revoked certificates on real servers", .timeLimit(.minutes(6)),
    .enabled(if: access("/usr/bin/openssl", X_OK) == 0))
struct RevocationServerTests {
    /// An authority with a responder for its root and one for its intermediate, both answering as the issuer.
    private struct Responders {
        let root: OpenSSLResponder
        let intermediate: OpenSSLResponder
        let authority: CertificateAuthority

        init() throws {
            root = try OpenSSLResponder()
            intermediate = try OpenSSLResponder()
            authority = try CertificateAuthority(
                makingAt: Forge.now,
                responders: CertificateAuthority.Responders(root: root.url, intermediate: intermediate.url))
        }

        func start(_ leaf: OpenSSLResponder.Status = .good) async throws -> [OpenSSLResponder.Running] {
            func one(
                _ responder: OpenSSLResponder, _ issuer: CertificateAuthority.Member,
                _ subject: CertificateAuthority.Member, _ status: OpenSSLResponder.Status
            ) async throws -> OpenSSLResponder.Running {
                let pem = PEM.encode(issuer.certificate, label: "CERTIFICATE")
                let serial = try await responder.serial(of: PEM.encode(subject.certificate, label: "CERTIFICATE"))
                return try await responder.start(
                    authority: pem, signer: pem, key: issuer.key.pem(), certificates: [(serial, status)])
            }
            return [
                try await one(root, authority.root, authority.intermediate, .good),
                try await one(intermediate, authority.intermediate, authority.leaf, leaf),
            ]
        }
    }

    private func withChecker(
        _ mode: RevocationSettings.Mode, metrics: Metrics, _ body: (RevocationChecker) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "ocsp")
        var settings = RevocationSettings()
        settings.mode = mode
        settings.retryAfter = .milliseconds(100)
        let checker = RevocationChecker(settings: settings, loop: loop, metrics: metrics, log: .discarding)
        do { try await body(checker) } catch {
            await checker.drain()
            loop.stop()
            throw error
        }
        await checker.drain()
        loop.stop()
    }

    @Test("Pitfall 7: a notification waits at a retry level while the responder is down, and is applied once it is up")
    func aNotificationWaitsWhileTheResponderIsDown() async throws {
        try await Stage.with { stage in
            try await withChecker(.hard, metrics: stage.metrics) { checker in
                let responders = try Responders()
                let consumer = try stage.consumer(authority: responders.authority, revocation: checker)
                try await consumer.start()
                try await stage.send(try Forge.notification(lineage: "0", by: responders.authority))
                check(try await eventually { stage.count("retry") >= 1 })
                check(try await stage.applied(1) == 0)
                let running = try await responders.start()
                check(try await eventually(within: .seconds(60)) { stage.count("applied") == 1 })
                withExtendedLifetime(running) {}
                await consumer.drain()
                check(try await stage.applied(1) == 1)
                check(try await stage.waiting() == 0)
                check(try await stage.inspector.messageCount(of: stage.broker.names.quarantine) == 0)
            }
        }
    }

    @Test func whatARevokedLeafSignedLiesInQuarantine() async throws {
        try await Stage.with { stage in
            try await withChecker(.soft, metrics: stage.metrics) { checker in
                let responders = try Responders()
                let running = try await responders.start(.revoked(at: "200102030405Z", reason: "keyCompromise"))
                let consumer = try stage.consumer(authority: responders.authority, revocation: checker)
                try await consumer.start()
                try await stage.send(try Forge.notification(lineage: "0", by: responders.authority))
                check(try await eventually { stage.count("quarantined") >= 1 })
                await consumer.drain()
                withExtendedLifetime(running) {}
                check(try await stage.applied(1) == 0)
                let quarantine = QuarantineQueue(
                    settings: stage.broker, publisher: stage.publisher, metrics: stage.metrics, log: .discarding)
                let listed = try await quarantine.list()
                check(listed.map(\.reason.code) == ["revoked"])
                check(listed.first?.reason.sentence.contains("keyCompromise") == true)
            }
        }
    }
}
