/// Lets the calls of this process wait their turn: by priority, then in the order they came, each as long as it will.
///
/// One task a lane asks the bucket, so a bucket in Redis is asked about once a call, however many wait. Who cannot be
/// served in time is told at once and not at its deadline.
package actor CallQueue: CallBudget {
    private struct Waiter {
        let id: UInt64
        let priority: CallPriority
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Result<Void, CallRefusal>, Never>
    }

    private struct Lane {
        /// In the order in which they will be served.
        var waiters: [Waiter] = []
        var isServed = false
        /// While the lane waits for the bucket to fill: for whom, until when, and how to wake it.
        var rest: Rest?
    }

    private struct Rest {
        let number: UInt64
        let priority: CallPriority
        let until: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private let bucket: any CallBucket
    private let maximumWaiting: Int
    private var lanes: [CallLane: Lane] = [:]
    private var lastNumber: UInt64 = 0

    package init(bucket: any CallBucket, settings: CallBudgetSettings = CallBudgetSettings()) {
        self.bucket = bucket
        maximumWaiting = settings.waiting
    }

    package func admit(
        _ lane: CallLane, _ priority: CallPriority, within patience: Duration
    ) async throws(CallRefusal) {
        guard lanes[lane, default: Lane()].waiters.count < maximumWaiting else { throw .overloaded }
        lastNumber &+= 1
        let id = lastNumber
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, CallRefusal>, Never>) in
                // A handler that ran already found nobody to take out.
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
                add(
                    Waiter(id: id, priority: priority, deadline: .now + patience, continuation: continuation), to: lane)
            }
        } onCancel: {
            Task { await self.refuse(in: lane, .cancelled) { $0.id == id } }
        }
        try result.get()
    }

    package func pause(_ lane: CallLane, for delay: Duration) async { await bucket.pause(lane, for: delay) }

    /// How many wait.
    package func waiting(in lane: CallLane) -> Int { lanes[lane]?.waiters.count ?? 0 }

    private func add(_ waiter: Waiter, to lane: CallLane) {
        var state = lanes[lane] ?? Lane()
        let place = state.waiters.firstIndex { $0.priority > waiter.priority } ?? state.waiters.endIndex
        state.waiters.insert(waiter, at: place)
        let rest = state.rest
        let starts = !state.isServed
        state.isServed = true
        lanes[lane] = state
        if starts {
            Task(name: "app-store-calls") { await serve(lane) }
        } else if let rest, waiter.priority < rest.priority {
            wake(lane, rest.number)
        } else if let rest, waiter.deadline < rest.until {
            refuse(in: lane, .noRoom(for: rest.until - .now)) { $0.id == waiter.id }
        }
    }

    private func serve(_ lane: CallLane) async {
        while let first = lanes[lane]?.waiters.first {
            let wait = await bucket.take(lane, first.priority)
            // Whoever is first by now: one of a higher priority may have come meanwhile.
            guard let wait else {
                if lanes[lane]?.waiters.isEmpty == false {
                    lanes[lane]?.waiters.removeFirst().continuation.resume(returning: .success(()))
                }
                continue
            }
            let until = ContinuousClock.now + wait
            // Nobody behind the first can be served earlier than it.
            refuse(in: lane, .noRoom(for: wait)) { $0.deadline < until && $0.priority >= first.priority }
            if let next = lanes[lane]?.waiters.first, next.priority >= first.priority {
                await rest(lane, for: next.priority, until: until)
            }
        }
        lanes[lane] = nil
    }

    private func rest(_ lane: CallLane, for priority: CallPriority, until: ContinuousClock.Instant) async {
        lastNumber &+= 1
        let number = lastNumber
        let alarm = Task(name: "app-store-calls-rest") {
            // Cancelled when somebody else woke the lane.
            try? await Task.sleep(until: until, clock: .continuous)
            wake(lane, number)
        }
        await withCheckedContinuation { continuation in
            lanes[lane]?.rest = Rest(number: number, priority: priority, until: until, continuation: continuation)
        }
        alarm.cancel()
    }

    private func wake(_ lane: CallLane, _ number: UInt64) {
        guard let rest = lanes[lane]?.rest, rest.number == number else { return }
        lanes[lane]?.rest = nil
        rest.continuation.resume()
    }

    private func refuse(in lane: CallLane, _ refusal: CallRefusal, _ which: (Waiter) -> Bool) {
        guard let waiters = lanes[lane]?.waiters else { return }
        lanes[lane]?.waiters.removeAll(where: which)
        for waiter in waiters where which(waiter) { waiter.continuation.resume(returning: .failure(refusal)) }
        // With nobody left there is nothing to rest for.
        if lanes[lane]?.waiters.isEmpty == true, let rest = lanes[lane]?.rest { wake(lane, rest.number) }
    }
}
