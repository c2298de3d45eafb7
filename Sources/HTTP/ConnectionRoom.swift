/// How many connections the listeners of a process may keep open, so that however many come, files are left for the disk,
/// the broker, Redis and the operators.
package struct ConnectionRoom: Sendable, Hashable {
    /// For the listener that faces the internet.
    package let open: Int
    /// For each listener of operators.
    package let operations: Int

    /// Shares out the `files` that the process may open.
    package init(files: Int) {
        let own = min(256, files / 4)
        operations = max(1, min(256, files / 16))
        // There may be two of operators: the gateway's and the consumer's.
        open = max(1, files - own - 2 * operations)
    }
}

extension HTTPServerSettings {
    /// Lowers the limit of connections to `room`; true when that changed it.
    package mutating func limitConnections(to room: Int) -> Bool {
        guard connections > room else { return false }
        connections = room
        return true
    }
}
