/// A long-lived part of a process. `ServiceGroup` starts services in order and drains them in reverse.
///
/// A service heals itself: what it depends on may come and go while it runs, so only `start` throws.
package protocol Service: Sendable {
    /// Names the service in logs, such as `broker-publisher`.
    var name: String { get }
    /// Returns once the service can do its work, or is trying to on its own (reconnecting with backoff).
    func start() async throws
    /// Takes in nothing new, finishes what is in hand, lets go of what it holds. Called once, also if never ready.
    func drain() async
    /// Reads again what may change under a running process (certificates); SIGHUP asks for it.
    func reload() async
}

extension Service {
    package func reload() async {}
}
