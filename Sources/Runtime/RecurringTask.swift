/// Does something small at once, and again and again until it is drained: what it looks at is never older than `every`.
package actor RecurringTask: Service {
    package nonisolated let name: String
    private let every: Duration
    private let body: @Sendable () async -> Void
    private var work: Task<Void, Never>?

    /// `body` deals with its failures itself; it is cancelled when the process ends.
    package init(name: String, every: Duration, _ body: @escaping @Sendable () async -> Void) {
        self.name = name
        self.every = every
        self.body = body
    }

    package func start() async {
        let (every, body) = (every, body)
        work = Task(name: name) {
            while true {
                await body()
                // Cancelled means draining.
                do { try await Task.sleep(for: every) } catch { return }
            }
        }
    }

    package func drain() async {
        let work = self.work.take()
        work?.cancel()
        await work?.value
    }
}
