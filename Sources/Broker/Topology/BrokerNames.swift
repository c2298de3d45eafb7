/// The names of exchanges and queues. Tests and tenants that share a broker differ in the prefix.
package struct BrokerNames: Sendable, Hashable {
    package let prefix: String

    package init(prefix: String) { self.prefix = prefix }

    /// Fanout: what is published here goes to `apply` and to `ledger`.
    package var intake: String { "\(prefix).intake" }
    /// The work queue.
    package var apply: String { "\(prefix).apply" }
    /// The stream of everything that came in.
    package var ledger: String { "\(prefix).ledger" }
    /// What cannot be used yet.
    package var quarantine: String { "\(prefix).quarantine" }
    /// Topic: what changed, for others.
    package var events: String { "\(prefix).events" }
    /// Where a message waits before it comes back to `apply`.
    package func retry(_ level: RetryLevel) -> String { "\(prefix).retry.\(level.name)" }
}

/// How long a message waits before it is tried again. Named by the delay, so that a changed table makes new queues
/// instead of contradicting old ones.
package struct RetryLevel: Sendable, Hashable, CaseIterable {
    package let name: String
    package let delay: Duration

    /// The first waits catch a failing-over Redis, the last ones an outage, without hammering either.
    package static let allCases = [
        RetryLevel(name: "1s", delay: .seconds(1)),
        RetryLevel(name: "5s", delay: .seconds(5)),
        RetryLevel(name: "30s", delay: .seconds(30)),
        RetryLevel(name: "5m", delay: .seconds(300)),
        RetryLevel(name: "30m", delay: .seconds(1800)),
    ]

    /// The level for what has failed `attempts` times (1 after the first failure); the last one for ever.
    package static func after(attempts: Int) -> RetryLevel {
        allCases[min(max(attempts - 1, 0), allCases.count - 1)]
    }
}
