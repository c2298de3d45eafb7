import CacheTier
import Runtime

extension RecoveryStore {
    /// Does `body` while this process has the lease of `name`; nil while another one has it.
    func leased<Value: Sendable>(
        _ name: String, _ log: Log, _ body: () async throws(RecoveryFailure) -> Value
    ) async throws(RecoveryFailure) -> Value? {
        let isOurs: Bool
        do throws(StoreError) { isOurs = try await take(name) } catch { throw .store(error) }
        guard isOurs else { return nil }
        // A call may wait for its turn for longer than the lease lasts.
        let keeper = Task(name: "recovery-lease") { await keepLease(of: name, log) }
        let result: Result<Value, RecoveryFailure>
        do throws(RecoveryFailure) { result = .success(try await body()) } catch { result = .failure(error) }
        keeper.cancel()
        await keeper.value
        do throws(StoreError) { try await release(name) } catch {
            // It runs out by itself.
            log.debug("the lease was not given back", ["job": .init(name), "error": .init(error)])
        }
        return try result.get()
    }

    private func keepLease(of name: String, _ log: Log) async {
        while true {
            do { try await Task.sleep(for: leaseTime / 3) } catch { return }
            // Lost or out of reach: whoever saves next is told.
            do throws(StoreError) { _ = try await take(name) } catch {
                log.debug("the lease was not renewed", ["job": .init(name), "error": .init(error)])
            }
        }
    }
}
