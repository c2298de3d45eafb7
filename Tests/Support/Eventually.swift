/// Waits until `condition` holds, looking every few milliseconds; false if it does not before `deadline`.
/// For what announces itself in no other way; where an event can be awaited, await it.
package func eventually(within deadline: Duration = .seconds(20), _ condition: () async throws -> Bool) async throws
    -> Bool
{
    let end = ContinuousClock.now + deadline
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
