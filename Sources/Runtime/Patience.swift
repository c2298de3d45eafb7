/// Waits for what others do, and for no longer than is bearable.
package enum Patience {
    /// What `work` gives, or nil once `limit` is over: then nobody waits for it any more, and it ends by itself.
    package static func wait<Value: Sendable>(
        _ limit: Duration, for work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let (results, result) = AsyncStream<Value?>.makeStream(bufferingPolicy: .bufferingOldest(1))
        Task {
            result.yield(await work())
            result.finish()
        }
        let timer = Task {
            // Cancelled: the work was done in time.
            do { try await Task.sleep(for: limit) } catch { return }
            result.yield(nil)
            result.finish()
        }
        defer { timer.cancel() }
        for await first in results { return first }
        return nil
    }
}
