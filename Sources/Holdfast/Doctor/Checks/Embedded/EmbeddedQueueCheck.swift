import EmbeddedQueue
import EmbeddedStore
import Runtime

/// Whether the embedded queue can be read, and what it promises less than RabbitMQ.
struct EmbeddedQueueCheck: Check {
    let name = "embedded queue"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        let file = patient.settings.embedded.queueFile.path
        guard (try? FileFacts(of: file)) != nil else {
            return .notChecked("\(file) is not there yet", "holdfast serve makes it when it starts.")
        }
        do {
            let counts = try await patient.settings.withEmbeddedQueue { try await $0.counts() }
            let found = "\(counts.work) to apply, \(counts.quarantine) in quarantine, \(counts.ledger) in the ledger"
            return .warning(
                "\(found). It promises less than RabbitMQ: one disk, no replica, and events only by holdfast events",
                "Back up \(patient.settings.embedded.folder); with more than one server, set queue.kind to rabbitmq.")
        } catch {
            return .wrong("\(file): \(error)", "Put a backup in its place.")
        }
    }
}
