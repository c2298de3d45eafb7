import EmbeddedStore
import Redis
import Runtime

/// Whether the embedded store can be read, and what it promises less than Redis.
struct EmbeddedStoreCheck: Check {
    let name = "embedded store"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        let file = patient.settings.embedded.storeFile.path
        guard (try? FileFacts(of: file)) != nil else {
            return .notChecked("\(file) is not there yet", "holdfast serve makes it when it starts.")
        }
        switch await patient.redis.answer() {
        case .failure(let error): return .wrong("\(error)", "Put a backup in its place, or replay the ledger.")
        case .success(let link):
            do throws(RedisError) { _ = try await link.send(["DBSIZE"]) } catch {
                return .wrong("\(file): \(error)", "Put a backup in its place, or replay the ledger.")
            }
            return .warning(
                "\(file) can be read. It promises less than Redis: one disk, one process, no replica",
                "Back up \(patient.settings.embedded.folder); with more than one server, set store.kind to redis.")
        }
    }
}
