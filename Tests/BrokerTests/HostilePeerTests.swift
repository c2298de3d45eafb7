import Broker
import Runtime
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(6)))
struct HostilePeerTests {
    @Test func whateverTheNetworkSaysTheProcessLivesAndPublishesAgain() async throws {
        let server = try await RabbitMQServer.shared()
        var settings = BrokerSettings(server)
        let inspector = BrokerInspector(settings: settings)
        let proxy = try CorruptingProxy(target: server.port)
        settings.port = proxy.port
        settings.connectTimeout = .milliseconds(300)
        settings.confirmTimeout = .milliseconds(300)
        settings.stallLimit = .seconds(1)
        settings.heartbeat = .seconds(1)
        settings.reconnectMinimum = .milliseconds(10)
        settings.reconnectMaximum = .milliseconds(20)
        let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
        // A broker that is spoiled may look like one that refuses; then somebody starts again.
        let isStarted = try await eventually {
            do { try await publisher.start() } catch { return false }
            return true
        }
        #expect(isStarted)

        let exchange = settings.names.intake
        let isThrough = try await eventually(within: .seconds(120)) {
            _ = await publisher.publish((0..<20).map { BrokerMessage("\($0)") }, to: exchange)
            return proxy.connections > 45
        }
        #expect(isThrough, "\(proxy.connections) connections")
        proxy.beHonest()
        let isWell = try await eventually {
            await errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("at last"), to: exchange)
            } == nil
        }
        #expect(isWell)
        await publisher.drain()
        let last = try await inspector.readLedger().last
        #expect(last?.message.text == "at last")
        try await inspector.deleteTopology()
    }
}
