import Broker
import Time

/// Whether the ledger can be read, as a replay does.
struct LedgerCheck: Check {
    let name = "rabbitmq ledger"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withBroker { broker throws(BrokerError) in
            do throws(BrokerError) {
                let newest = try await broker.readLedger(from: .last, idle: .milliseconds(300)).last
                guard let newest, let offset = newest.streamOffset else { return .fine("readable and empty") }
                let since = newest.message.timestamp.map { ", the newest of \($0.rfc3339.prefix(19))Z" } ?? ""
                return .fine("readable, \(offset &+ 1) written so far\(since)")
            } catch {
                guard error.code == .notFound else { throw error }
                return .notChecked("there is no \(patient.settings.broker.names.ledger) yet")
            }
        }
    }
}
