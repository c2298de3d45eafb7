package import Entitlements
package import Redis

/// Remembers the transactions about which the App Store has asked how much was used (CONSUMPTION_REQUEST).
///
/// Its repeats come under new UUIDs; one answer to a transaction is enough. So the first request is remembered, by the
/// notification it came with, until the App Store has decided, and for a bounded time at most. The same notification
/// again is the first again: whoever failed after asking here gets the same answer at the next try.
package struct RefundRequests: Sendable {
    private let redis: any RedisCommands
    private let kept: Duration

    package init(redis: any RedisCommands, settings: StoreSettings = StoreSettings()) {
        self.redis = redis
        kept = settings.refundRequestsKept
    }

    /// Whether `notification` is the first request about this transaction, which it is from now on if there was none.
    package func isFirst(
        _ notification: String, about transactionID: String, app: AppID, environment: StoreEnvironment
    ) async throws(StoreError) -> Bool {
        let key = StorageLayout.refundRequest(transactionID, app, environment)
        let milliseconds = max(1, Int64(kept / .milliseconds(1)))
        let reply = try await send(
            key, ["SET", .text(key), .text(notification), "NX", "GET", "PX", RedisArgument(milliseconds)])
        // What stood there before: nothing, if this is the first.
        guard let first = reply.bytes else { return true }
        return first == Array(notification.utf8)
    }

    /// The App Store has decided: another request about this transaction is a new one.
    package func close(
        about transactionID: String, app: AppID, environment: StoreEnvironment
    ) async throws(StoreError) {
        let key = StorageLayout.refundRequest(transactionID, app, environment)
        _ = try await send(key, ["DEL", .text(key)])
    }

    private func send(_ key: String, _ command: [RedisArgument]) async throws(StoreError) -> RedisReply {
        do { return try await redis.send(command) } catch {
            if error.isWrongType { throw .unreadable(key: key, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
    }
}
