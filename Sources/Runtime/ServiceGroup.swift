internal import Synchronization

/// Runs the services of a process: started in order, drained in reverse, all within one deadline.
package struct ServiceGroup: Sendable {
    package enum Failure: Error, Sendable, CustomStringConvertible {
        /// These had not drained by the deadline.
        case drainDeadlineExceeded([String])
        /// A second signal asked to stop at once.
        case interrupted

        package var description: String {
            switch self {
            case .drainDeadlineExceeded(let names):
                "still draining at the deadline: \(names.joined(separator: ", "))"
            case .interrupted: "told twice to stop, so stopped without draining"
            }
        }
    }

    private let services: [any Service]
    private let drainDeadline: Duration
    private let echo: Duration
    private let log: Log

    /// A second signal within `echo` of the first is taken for the same one: a terminal, `timeout` and many a supervisor
    /// signal a whole group of processes, and so does a parent that passes on what it was sent itself.
    package init(
        _ services: [any Service], drainDeadline: Duration = .seconds(25), echo: Duration = .seconds(1), log: Log
    ) {
        self.services = services
        self.drainDeadline = drainDeadline
        self.echo = echo
        self.log = log
    }

    /// Returns when a signal asked to terminate and everything has drained. When a service fails to start, those before
    /// it are drained and its error is thrown. `whenReady` is called once all have started.
    package func run(
        until signals: AsyncStream<ProcessSignal>, whenReady: @Sendable () async -> Void = {}
    ) async throws {
        var started: [any Service] = []
        do {
            for service in services {
                started.append(service)
                try await service.start()
                log.debug("service started", ["service": "\(service.name)"])
            }
        } catch {
            log.error("service did not start", ["service": .init(started.last?.name ?? ""), "error": .init(error)])
            try await drain(started, signals)
            throw error
        }
        await whenReady()
        log.info("ready", ["services": .init(services.map(\.name).joined(separator: " "))])
        for await signal in signals {
            switch signal {
            case .reload:
                log.info("reloading")
                for service in services { await service.reload() }
            case .terminate:
                log.info("draining")
                try await drain(started, signals)
                log.info("stopped")
                return
            }
        }
        try await drain(started, signals)
    }

    private final class Waiting: Sendable {
        private let state: Mutex<[String]>
        init(_ names: [String]) { state = Mutex(names) }
        var names: [String] { state.withLock { $0 } }
        func remove(_ name: String) { state.withLock { $0.removeAll { $0 == name } } }
    }

    private enum DrainEnd: Sendable {
        case drained
        case deadline([String])
        case interrupted
    }

    /// Unstructured on purpose: a service that hears neither `drain` nor cancellation must not hold up the exit.
    private func drain(_ started: [any Service], _ signals: AsyncStream<ProcessSignal>) async throws {
        let waiting = Waiting(started.map(\.name))
        let (ends, end) = AsyncStream.makeStream(of: DrainEnd.self)
        let insistsFrom = ContinuousClock.now + echo
        let tasks = [
            Task {
                for service in started.reversed() {
                    await service.drain()
                    waiting.remove(service.name)
                }
                end.yield(.drained)
            },
            Task {
                do { try await Task.sleep(for: drainDeadline) } catch { return }
                end.yield(.deadline(waiting.names))
            },
            Task {
                for await signal in signals where signal == .terminate && .now >= insistsFrom {
                    end.yield(.interrupted)
                }
            },
        ]
        defer { for task in tasks { task.cancel() } }
        for await end in ends {
            switch end {
            case .drained: return
            case .deadline(let names): throw Failure.drainDeadlineExceeded(names)
            case .interrupted: throw Failure.interrupted
            }
        }
    }
}
