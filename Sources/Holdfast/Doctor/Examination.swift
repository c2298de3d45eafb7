import Synchronization

/// Runs checks side by side, each with a deadline of its own, so that none waits for another's trouble.
struct Examination: Sendable {
    struct Outcome: Sendable {
        let name: String
        let finding: Finding
        let took: Duration
    }

    let checks: [any Check]
    let timeout: Duration
    /// Why a check is not to be made at all; nil if it is.
    let excuse: @Sendable (any Check) -> String?

    /// Returns all outcomes in the order of the checks. `progress` hears each as soon as all before it are known, and who
    /// is still waited for.
    func run(
        progress: (_ news: [Outcome], _ waitingFor: [String]) -> Void = { _, _ in }
    ) async -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: checks.count)
        var told = 0
        await withTaskGroup(of: (Int, Outcome).self) { group in
            for (index, check) in checks.enumerated() {
                group.addTask { (index, await outcome(of: check)) }
            }
            progress([], checks.map(\.name))
            for await (index, outcome) in group {
                outcomes[index] = outcome
                let known = outcomes[told...].prefix { $0 != nil }.compactMap(\.self)
                told += known.count
                progress(known, zip(checks, outcomes).filter { $0.1 == nil }.map(\.0.name))
            }
        }
        return outcomes.compactMap(\.self)
    }

    private func outcome(of check: any Check) async -> Outcome {
        if let reason = excuse(check) {
            return Outcome(name: check.name, finding: .notChecked(reason), took: .zero)
        }
        let start = ContinuousClock.now
        let limit = timeout * check.patience
        let finding = await Self.first(within: limit) { await check.examine() }
        return Outcome(
            name: check.name,
            finding: finding
                ?? .wrong("no answer within \(limit.seconds) s", "Look at what it asks; --timeout allows it more time."),
            took: .now - start)
    }

    /// What `body` returns, or nil at the deadline. The body is not waited for then: it may hang in a call that nothing
    /// ends, and the process will end before it.
    private static func first(
        within limit: Duration, _ body: @escaping @Sendable () async -> Finding
    ) async -> Finding? {
        await withCheckedContinuation { continuation in
            let race = Race(continuation)
            Task { race.end(with: await body()) }
            Task {
                // Cancelled by nobody.
                try? await Task.sleep(for: limit)
                race.end(with: nil)
            }
        }
    }

    private final class Race: Sendable {
        private let continuation: Mutex<CheckedContinuation<Finding?, Never>?>

        init(_ continuation: CheckedContinuation<Finding?, Never>) { self.continuation = Mutex(continuation) }

        func end(with finding: Finding?) {
            continuation.withLock { $0.take() }?.resume(returning: finding)
        }
    }
}

extension Duration {
    /// For people: tenths below ten seconds.
    var seconds: String {
        let tenths = Int64((self / .milliseconds(100)).rounded())
        return tenths % 10 == 0 || tenths >= 100 ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// For people: `0.04 ms`, `4.1 ms`, `12 ms` or `3.1 s`.
    var short: String {
        let microseconds = max(0, Int64((self / .microseconds(1)).rounded()))
        let (whole, rest) = (microseconds / 1000, microseconds % 1000)
        if microseconds < 1000 { return "0.\(rest < 100 ? "0" : "")\(rest / 10) ms" }
        if microseconds < 10_000 { return "\(whole).\(rest / 100) ms" }
        return microseconds < 1_000_000 ? "\(whole) ms" : "\(seconds) s"
    }
}
