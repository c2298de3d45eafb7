internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread that sleeps in epoll and runs both Swift jobs and the callbacks of file descriptors and timers.
///
/// Actors whose `unownedExecutor` is a loop may call C libraries that are not thread-safe, and may block shortly, without
/// ever blocking Swift's cooperative pool. All file descriptors, timers and callbacks of a loop belong to its thread.
///
/// Unchecked because the compiler cannot see that `reactor` is touched by the loop's thread alone: each method that
/// reaches it starts with `requireCurrent()`, which traps elsewhere (our bug, never a peer's doing).
package final class EventLoop: SerialExecutor, @unchecked Sendable {
    /// What a file descriptor is watched for.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let read = Interest(rawValue: 1)
        package static let write = Interest(rawValue: 2)
        /// Of the loops that watch the same listener, wakes one and not all. It cannot be rewatched.
        package static let exclusive = Interest(rawValue: 4)
    }

    /// What has become possible on a watched file descriptor. `hangup` comes with whatever is still readable.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let read = Readiness(rawValue: 1)
        package static let write = Readiness(rawValue: 2)
        package static let hangup = Readiness(rawValue: 4)
    }

    package struct TimerID: Hashable, Sendable { fileprivate let number: UInt64 }

    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        var stopping = false
        var stopped = false
    }

    package let name: String
    private let wakeup: Int32
    private let epoll: Int32
    private let inbox = Mutex(Inbox())
    private let threadID = Mutex<UInt?>(nil)
    /// The loop's thread alone touches it.
    private var reactor = Reactor()

    /// Starts the thread. Throws when the process is out of file descriptors or threads.
    package init(name: String) throws(SystemError) {
        self.name = name
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw SystemError(call: "epoll_create1") }
        let wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else {
            let error = SystemError(call: "eventfd")
            close(epoll)
            throw error
        }
        self.epoll = epoll
        self.wakeup = wakeup
        var event = unsafe epoll_event(
            events: HOLDFAST_EPOLLIN, data: epoll_data_t(u64: UInt64(UInt32(bitPattern: wakeup))))
        guard unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event) == 0 else {
            throw SystemError(call: "epoll_ctl")
        }
        try Thread.start(name: name) { self.run() }
    }

    // Not at the end of the thread: `stop` and `enqueue` may still be about to write to `wakeup`, and would write into
    // whatever got its number meanwhile.
    deinit {
        close(epoll)
        close(wakeup)
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) { post(.job(UnownedJob(job))) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() { requireCurrent() }

    /// Whether the caller runs on this loop's thread.
    package var isCurrent: Bool { threadID.withLock { $0 } == Thread.currentID }

    /// Runs `body` on the loop's thread, later; from any thread.
    package func execute(_ body: @escaping @Sendable () -> Void) { post(.body(body)) }

    /// Asks the thread to end once it has run what was posted before. Call it after every actor on it is done.
    package func stop() {
        inbox.withLock { $0.stopping = true }
        wake()
    }

    private func post(_ work: Work) {
        let wasEmpty = inbox.withLock { inbox in
            inbox.work.append(work)
            return inbox.work.count == 1
        }
        if wasEmpty { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        // EAGAIN means the counter is full, so the loop is awake anyway.
        _ = unsafe write(wakeup, &one, 8)
    }

    // MARK: File descriptors and timers, on the loop's thread only

    /// Calls `handler` on this thread whenever `fd` is ready, level-triggered, until `unwatch`.
    package func watch(
        _ fd: Int32, for interest: Interest, _ handler: @escaping (Readiness) -> Void
    ) throws(SystemError) {
        requireCurrent()
        try control(EPOLL_CTL_ADD, fd, interest)
        reactor.watchers[fd] = handler
    }

    /// Changes what a watched `fd` is watched for; an empty interest still reports hang-ups.
    package func rewatch(_ fd: Int32, for interest: Interest) throws(SystemError) {
        requireCurrent()
        try control(EPOLL_CTL_MOD, fd, interest)
    }

    /// Stops watching. Call it before closing `fd`.
    package func unwatch(_ fd: Int32) {
        requireCurrent()
        guard reactor.watchers.removeValue(forKey: fd) != nil else { return }
        // Fails only when the descriptor is closed already, and then there is nothing left to remove.
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nil)
    }

    /// Runs `body` once on this thread after `delay`, by the monotonic clock.
    @discardableResult
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TimerID {
        requireCurrent()
        return reactor.timers.add(due: .now + delay, body)
    }

    package func cancel(_ timer: TimerID) {
        requireCurrent()
        reactor.timers.remove(timer)
    }

    private func control(_ operation: Int32, _ fd: Int32, _ interest: Interest) throws(SystemError) {
        var event = unsafe epoll_event(events: 0, data: epoll_data_t(u64: UInt64(UInt32(bitPattern: fd))))
        if interest.contains(.exclusive) {
            // Linux refuses EPOLLEXCLUSIVE together with EPOLLRDHUP.
            unsafe event.events |= HOLDFAST_EPOLLIN | HOLDFAST_EPOLLEXCLUSIVE
        } else if interest.contains(.read) {
            unsafe event.events |= HOLDFAST_EPOLLIN | HOLDFAST_EPOLLRDHUP
        }
        if interest.contains(.write) { unsafe event.events |= HOLDFAST_EPOLLOUT }
        guard unsafe epoll_ctl(epoll, operation, fd, &event) == 0 else { throw SystemError(call: "epoll_ctl") }
    }

    private func requireCurrent() {
        precondition(isCurrent, "called off the thread of event loop \(name)")
    }

    // MARK: The thread

    private func run() {
        threadID.withLock { $0 = Thread.currentID }
        let executor = unsafe asUnownedSerialExecutor()
        var events = unsafe [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            let (work, stopping) = inbox.withLock { inbox in
                defer { inbox.work.removeAll(keepingCapacity: inbox.work.count < 1024) }
                return (inbox.work, inbox.stopping)
            }
            for item in work {
                switch item {
                case .job(let job): unsafe job.runSynchronously(on: executor)
                case .body(let body): body()
                }
            }
            for body in reactor.timers.takeDue(by: .now) { body() }
            if work.isEmpty && stopping { break }
            let hasWork = inbox.withLock { !$0.work.isEmpty }
            let timeout = hasWork ? 0 : reactor.timers.millisecondsToNext(from: .now)
            let count = unsafe epoll_wait(epoll, &events, Int32(events.count), timeout)
            guard count > 0 else { continue }
            for index in 0..<Int(count) {
                let event = unsafe events[index]
                unsafe dispatch(fd: Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64)), event.events)
            }
        }
        // Handlers may hold the loop.
        reactor = Reactor()
    }

    private func dispatch(fd: Int32, _ bits: UInt32) {
        if fd == wakeup {
            var count: UInt64 = 0
            _ = unsafe read(wakeup, &count, 8)
            return
        }
        // An earlier handler of the same round may have stopped watching this one.
        guard let handler = reactor.watchers[fd] else { return }
        var readiness: Readiness = []
        if bits & HOLDFAST_EPOLLIN != 0 { readiness.insert(.read) }
        if bits & HOLDFAST_EPOLLOUT != 0 { readiness.insert(.write) }
        if bits & (HOLDFAST_EPOLLHUP | HOLDFAST_EPOLLERR | HOLDFAST_EPOLLRDHUP) != 0 { readiness.insert(.hangup) }
        handler(readiness)
    }

    private struct Reactor {
        var watchers: [Int32: (Readiness) -> Void] = [:]
        var timers = TimerHeap()
    }

    /// A binary heap by due time; a cancelled timer stays in it, empty, until its time comes.
    fileprivate struct TimerHeap {
        private struct Entry {
            let due: ContinuousClock.Instant
            let number: UInt64
        }

        private var heap: [Entry] = []
        private var bodies: [UInt64: () -> Void] = [:]
        private var lastNumber: UInt64 = 0

        mutating func add(due: ContinuousClock.Instant, _ body: @escaping () -> Void) -> TimerID {
            lastNumber &+= 1
            bodies[lastNumber] = body
            heap.append(Entry(due: due, number: lastNumber))
            var child = heap.count - 1
            while child > 0, heap[child].due < heap[(child - 1) / 2].due {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
            return TimerID(number: lastNumber)
        }

        mutating func remove(_ timer: TimerID) {
            bodies[timer.number] = nil
            // A loop that sets and cancels a deadline per request must not keep them all until they would be due.
            if heap.count > 64, heap.count > 2 * bodies.count { rebuild() }
        }

        mutating func takeDue(by now: ContinuousClock.Instant) -> [() -> Void] {
            var due: [() -> Void] = []
            while let first = heap.first, first.due <= now {
                removeFirst()
                if let body = bodies.removeValue(forKey: first.number) { due.append(body) }
            }
            return due
        }

        /// -1 when nothing is due ever, as epoll_wait wants it; rounded up so that the loop does not spin.
        func millisecondsToNext(from now: ContinuousClock.Instant) -> Int32 {
            guard let first = heap.first else { return -1 }
            let left = (first.due - now).components
            if left.seconds < 0 || left.attoseconds < 0 { return 0 }
            return Int32(clamping: min(left.seconds, 3600) * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)
        }

        private mutating func removeFirst() {
            guard let last = heap.popLast(), !heap.isEmpty else { return }
            heap[0] = last
            sink(from: 0)
        }

        private mutating func rebuild() {
            heap.removeAll { bodies[$0.number] == nil }
            for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
        }

        private mutating func sink(from start: Int) {
            var parent = start
            while true {
                var least = parent
                for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                    if heap[child].due < heap[least].due { least = child }
                }
                if least == parent { return }
                heap.swapAt(parent, least)
                parent = least
            }
        }
    }
}
