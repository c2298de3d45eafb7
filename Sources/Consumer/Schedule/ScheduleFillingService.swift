package import CacheTier
import Entitlements
package import Runtime
import Synchronization

/// Enters what an earlier version stored into the schedule, in the background, once for each app; and goes on where a
/// process that ended had been.
package final class ScheduleFillingService: Service {
    package let name = "schedule-filling"
    private let apps: [ScheduleFilling]
    private let pause: Duration
    private let isReady: @Sendable () -> Bool
    private let log: Log
    private let work = Mutex<Task<Void, Never>?>(nil)

    package init(
        apps: [ScheduleFilling], pause: Duration = .seconds(5), log: Log, isReady: @escaping @Sendable () -> Bool
    ) {
        self.apps = apps
        self.pause = pause
        self.isReady = isReady
        self.log = log.part(name)
    }

    package func start() async {
        let task = Task(name: name) {
            var rest = apps
            while !rest.isEmpty {
                // Redis is asked by the consumer first whether it is a store at all.
                do { try await Task.sleep(for: pause) } catch { return }
                guard isReady() else { continue }
                var unfinished: [ScheduleFilling] = []
                for app in rest where await !isDone(app) { unfinished.append(app) }
                rest = unfinished
            }
        }
        work.withLock { $0 = task }
    }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func isDone(_ filling: ScheduleFilling) async -> Bool {
        do throws(StoreError) {
            switch try await filling.run() {
            case .already: return true
            case .busy, .interrupted: return false
            case .done(let entered):
                log.info(
                    "what was stored before is in the schedule",
                    ["app": .init(filling.app), "entered": .init(entered)])
                return true
            }
        } catch {
            log.warning(
                "entering what was stored before was interrupted", ["app": .init(filling.app), "error": .init(error)])
            return false
        }
    }
}
