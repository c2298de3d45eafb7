import Broker
import Runtime
import TestSupport

/// Runs `body` with a started publisher on the shared server, and removes the queues afterwards.
func withPublisher(
    _ adjust: (inout BrokerSettings) -> Void = { _ in },
    _ body: (BrokerPublisher, BrokerSettings, BrokerInspector) async throws -> Void
) async throws {
    var settings = BrokerSettings(try await RabbitMQServer.shared())
    adjust(&settings)
    let inspector = BrokerInspector(patient: settings)
    let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
    try await publisher.start()
    do { try await body(publisher, settings, inspector) } catch {
        await publisher.drain()
        try await inspector.deleteTopology()
        throw error
    }
    await publisher.drain()
    try await inspector.deleteTopology()
}

/// The code of the error that `body` throws; nil when it throws none.
func errorCode(_ body: () async throws(BrokerError) -> Void) async -> BrokerError.Code? {
    do {
        try await body()
        return nil
    } catch { return error.code }
}

extension BrokerMessage {
    init(_ text: String, headers: [String: String] = [:]) { self.init(body: Array(text.utf8), headers: headers) }
    var text: String { String(decoding: body, as: UTF8.self) }
}
