internal import Redis
internal import Synchronization

/// Commands that wait for the thread which carries them out.
final class CommandQueue: Sendable {
    enum Work: Sendable {
        case command([[UInt8]])
        case script(RedisScript, keys: [[UInt8]], arguments: [[UInt8]])
    }

    struct Waiter: Sendable {
        let work: Work
        /// Whose it is; 0 for nobody's in particular.
        let link: UInt64
        let reply: CheckedContinuation<Result<RedisReply, RedisError>, Never>
    }

    private struct State {
        var waiters: [Waiter] = []
        var isOpen = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func open() { state.withLock { $0.isOpen = true } }

    /// Nothing is taken any more; what waits is still carried out.
    func close() { state.withLock { $0.isOpen = false } }

    enum Admission {
        /// The thread must be told when it had nothing to do.
        case added(wasEmpty: Bool)
        case refused(RedisError)
    }

    func add(_ waiter: Waiter) -> Admission {
        state.withLock { state in
            guard state.isOpen else { return .refused(RedisError(.closed)) }
            guard state.waiters.count < limit else {
                return .refused(RedisError(.overloaded, "\(state.waiters.count) commands wait"))
            }
            state.waiters.append(waiter)
            return .added(wasEmpty: state.waiters.count == 1)
        }
    }

    /// The oldest; whether there are more.
    func take(atMost limit: Int) -> (waiters: [Waiter], hasMore: Bool) {
        state.withLock { state in
            let waiters = Array(state.waiters.prefix(limit))
            state.waiters.removeFirst(waiters.count)
            return (waiters, !state.waiters.isEmpty)
        }
    }
}
