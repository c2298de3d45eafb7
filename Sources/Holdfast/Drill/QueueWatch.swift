import Broker
import HTTP
import Runtime

/// Looks whether news is still under way: in the gateways' spools, or in RabbitMQ's queues.
struct QueueWatch: Sendable {
    let broker: BrokerSettings
    /// The gateways' listeners for operators.
    let operations: [String]
    let client: HTTPClient

    /// What is left somewhere, or cannot be seen; nil when nothing is.
    func problem() async -> String? {
        for (number, address) in operations.enumerated() {
            do {
                let pending = try await metric("holdfast_spool_pending_records", at: address)
                if pending > 0 { return "gateway-\(number + 1): \(Int(pending)) in the spool" }
            } catch { return "gateway-\(number + 1): \(error)" }
        }
        do {
            let states = try await BrokerInspector(settings: broker).queueStates()
            let waiting = [broker.names.apply] + RetryLevel.allCases.map { broker.names.retry($0) }
            let left = states.first { state in
                (waiting + [broker.names.quarantine]).contains(state.name) && state.messages != 0
            }
            return left.map { "\($0.messages.map(String.init) ?? "nobody knows how many") in \($0.name)" }
        } catch { return "RabbitMQ: \(error)" }
    }

    /// The value of a metric, summed over its labels.
    private func metric(_ name: String, at address: String) async throws -> Double {
        let response = try await client.send(HTTPClientRequest(.get, "\(address)/metrics"))
        guard response.status == 200 else { throw DemoError("metrics: \(response.status)") }
        return String(decoding: response.body, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("\(name) ") || $0.hasPrefix("\(name){") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }
}
