/// Waits until `condition` holds, looking every few milliseconds at first and then less often; false if it does not before
/// `deadline`. A condition that throws does not hold yet, as a server's that was just killed: its last error is thrown when
/// the time is over. The deadline only bounds how long a failure takes, so it is generous to busy machines.
/// For what announces itself in no other way; where an event can be awaited, await it.
package func eventually(within deadline: Duration = .seconds(60), _ condition: () async throws -> Bool) async throws
    -> Bool
{
    let end = ContinuousClock.now + deadline
    var pause = Duration.milliseconds(5)
    while true {
        do { if try await condition() { return true } } catch {
            guard ContinuousClock.now < end, !(error is CancellationError) else { throw error }
        }
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(100))
    }
}
