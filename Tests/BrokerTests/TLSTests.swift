import Broker
import Runtime
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(6)))
struct BrokerTLSTests {
    /// A server that speaks TLS on its port, with a certificate of an authority in `folder`.
    private static func withServer(_ body: (RabbitMQServer, TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder("tls")
        for name in ["localhost", "stranger"] {
            try await folder.makeCertificate(
                of: name, for: "DNS:\(name)", certificate: "\(name).pem", key: "\(name).key")
        }
        let server = try await RabbitMQServer(tls: (folder.file("localhost.pem"), folder.file("localhost.key")))
        do { try await body(server, folder) } catch {
            try await server.remove()
            throw error
        }
        try await server.remove()
    }

    @Test func tlsIsSpokenAndTheCertificateChecked() async throws {
        try await Self.withServer { server, folder in
            var settings = BrokerSettings(server)
            settings.host = "localhost"
            settings.port = try #require(server.tlsPort)
            settings.tls = .init(certificateAuthorityFile: folder.file("localhost.pem"))
            let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
            try await publisher.start()
            #expect(publisher.isHealthy)
            let errors = await publisher.publish(
                (0..<300).map { _ in BrokerMessage(body: Array(repeating: 1, count: 20_000)) },
                to: settings.names.intake)
            check(errors.allSatisfy { $0 == nil })
            await publisher.drain()

            // Another authority, and another name.
            for (authority, host) in [("stranger", "localhost"), ("localhost", "127.0.0.1")] {
                var wrong = settings
                wrong.tls?.certificateAuthorityFile = folder.file("\(authority).pem")
                wrong.host = host
                let inspector = BrokerInspector(settings: wrong)
                let error = await #expect(throws: BrokerError.self) { try await inspector.declareTopology() }
                #expect(error?.code == .unreachable)
            }
        }
    }
}
