internal import CRabbitMQ
internal import Glibc
internal import Runtime
internal import Synchronization

/// Frees a thread that is stuck in a call of librabbitmq, which has no deadline for writing: shuts the socket down when
/// one call takes longer than the limit, and the call returns with an error.
///
/// The clock is watched by one loop of the process. It is woken once a limit at most, not once a call.
final class CallGuard: Sendable {
    private struct State {
        var fd: Int32?
        var deadline: ContinuousClock.Instant?
        var isTimerSet = false
        var hasFired = false
    }

    private static let watch = Result { () throws(SystemError) in try EventLoop(name: "broker-guard") }

    private let limit: Duration
    private let loop: EventLoop
    private let state: Mutex<State>

    init(fd: Int32, limit: Duration) throws(BrokerError) {
        self.limit = limit
        do { loop = try Self.watch.get() } catch { throw BrokerError(.unreachable, "\(error)") }
        state = Mutex(State(fd: fd))
    }

    /// Runs `call`, which ends within the limit (and what it means to wait), or soon after the socket is shut down.
    func bound<Value>(waiting: Duration = .zero, _ call: () -> Value) -> Value {
        let mustSetTimer = state.withLock { state in
            state.deadline = .now + limit + waiting
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSetTimer { loop.execute { self.setTimer(after: self.limit) } }
        defer { state.withLock { $0.deadline = nil } }
        return call()
    }

    /// Whether a call was cut short.
    var hasFired: Bool { state.withLock { $0.hasFired } }

    /// Leaves the socket alone from now on. Call it before the socket is closed: its number may be given to another.
    func forget() { state.withLock { $0.fd = nil } }

    private func setTimer(after delay: Duration) {
        loop.schedule(after: delay) { self.look() }
    }

    private func look() {
        let next: Duration? = state.withLock { state in
            guard let deadline = state.deadline, let fd = state.fd else {
                state.isTimerSet = false
                return nil
            }
            let left = deadline - .now
            if left > .zero { return left }
            // Under the lock, so that the descriptor cannot have been closed meanwhile.
            shutdown(fd, Int32(SHUT_RDWR))
            state.hasFired = true
            state.isTimerSet = false
            return nil
        }
        if let next { setTimer(after: next) }
    }
}
