internal import Runtime
internal import Synchronization

/// Does something for each change of Apple's health, one after the other, for as long as the process runs.
package final class AppleHealthFollower: Service {
    package let name: String
    private let changes: AsyncStream<AppleHealthMonitor.Change>
    private let follow: @Sendable (AppleHealthMonitor.Change) async -> Void
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Hears every change from its making on, so make it before `health` is started.
    package init(
        name: String, health: AppleHealthMonitor,
        _ follow: @escaping @Sendable (AppleHealthMonitor.Change) async -> Void
    ) {
        self.name = name
        changes = health.changes()
        self.follow = follow
    }

    package func start() {
        task.withLock { task in
            guard task == nil else { return }
            task = Task(name: name) { [changes, follow] in
                for await change in changes {
                    // What has piled up is given out even then.
                    guard !Task.isCancelled else { return }
                    await follow(change)
                }
            }
        }
    }

    /// What it is about to do is not waited for.
    package func drain() async {
        let task = task.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }
}
