import AppStore
import Broker
import Entitlements
import HTTP
import JSON
import Runtime
import TestSupport
import Time

@testable import Gateway

/// Signs notifications as Apple does, under a root of its own.
struct Sender {
    let authority: CertificateAuthority

    static let trusted = Result { try Sender() }
    static let stranger = Result { try Sender() }

    private init() throws { authority = try CertificateAuthority(makingAt: WallClock.system.now()) }

    /// Trusts this sender's root only.
    var judge: IntakeJudge {
        get throws { NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER]))).judge }
    }

    func body(
        _ uuid: String, environment: String = "Sandbox", type: String = "TEST", padding: Int = 0,
        signedDate: Timestamp = WallClock.system.now()
    ) throws -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("notificationType", type)
        json.member("notificationUUID", uuid)
        json.member("version", "2.0")
        json.member("signedDate", signedDate.milliseconds)
        json.member("padding", String(repeating: "x", count: padding))
        json.object("data") { data in
            data.member("bundleId", "com.example.demo")
            data.member("environment", environment)
        }
        json.endObject()
        return SignedBody.body(signedPayload: try authority.sign(json.bytes))
    }
}

/// A whole gateway with its own spool and listeners, before a RabbitMQ of the tests.
struct RunningGateway {
    let gateway: Gateway
    let broker: BrokerSettings
    let metrics: Metrics
    let folder: TemporaryFolder
    let client: HTTPClient

    var inspector: BrokerInspector { BrokerInspector(settings: broker) }
    var spool: Spool { gateway.spool }

    func counter(_ name: String, _ labels: Metrics.Labels) -> UInt64 { metrics.counter(name, "", labels: labels).value }

    func post(
        _ body: [UInt8], to path: String = "/apple/demo/sandbox", headers: HTTPHeaders = HTTPHeaders()
    ) async throws -> HTTPClientResponse {
        try await client.send(
            HTTPClientRequest(
                .post, "http://127.0.0.1:\(gateway.server.boundPort)\(path)", headers: headers, body: body))
    }

    func get(_ path: String, headers: HTTPHeaders = HTTPHeaders()) async throws -> HTTPClientResponse {
        try await client.send(
            HTTPClientRequest(.get, "http://127.0.0.1:\(gateway.server.boundPort)\(path)", headers: headers))
    }

    func operations(_ path: String) async throws -> HTTPClientResponse {
        try await client.send(HTTPClientRequest(.get, "http://127.0.0.1:\(gateway.operations.boundPort)\(path)"))
    }

    /// Everything in the work queue, taken out, as the notifications' UUIDs.
    func takeApplied() async throws -> [BrokerDelivery] {
        try await inspector.take(broker.names.apply, limit: 100_000)
    }
}

/// Runs a gateway for the time of `body`, and stops it in order.
func withGateway(
    _ server: RabbitMQServer, _ adjust: (inout GatewaySettings, inout BrokerSettings) -> Void = { _, _ in },
    _ body: (RunningGateway) async throws -> Void
) async throws {
    let folder = try TemporaryFolder("gateway")
    var settings = GatewaySettings(spool: SpoolSettings(folder: folder.file("spool"), segmentBytes: 1 << 20))
    settings.http.address = "127.0.0.1:0"
    settings.operations.address = "127.0.0.1:0"
    var broker = BrokerSettings()
    broker.host = server.host
    broker.port = server.port
    broker.prefix = RabbitMQServer.uniquePrefix("gateway")
    broker.ledgerMaximumBytes = 64 << 20
    broker.ledgerSegmentBytes = 4 << 20
    broker.reconnectMaximum = .milliseconds(300)
    adjust(&settings, &broker)
    let metrics = Metrics()
    let gateway = try Gateway(
        settings: settings, broker: broker, apps: ["demo", "other"].map { AppID($0) },
        judge: Sender.trusted.get().judge,
        isRedisConnected: { true }, metrics: metrics, log: .discarding)
    let loop = try EventLoop(name: "client")
    let client = HTTPClient(loop: loop)
    for service in gateway.services { try await service.start() }
    let running = RunningGateway(
        gateway: gateway, broker: broker, metrics: metrics, folder: folder, client: client)
    let result: Result<Void, any Error>
    do {
        try await body(running)
        result = .success(())
    } catch {
        result = .failure(error)
    }
    await client.close()
    for service in gateway.services.reversed() { await service.drain() }
    loop.stop()
    try result.get()
}
