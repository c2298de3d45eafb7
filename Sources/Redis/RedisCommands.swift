/// What a store needs of Redis: one command and its reply, one script and its reply.
package protocol RedisCommands: Sendable {
    /// A reply that is an error is thrown as `.refused`. After `.unreachable` and `.timedOut` nobody knows whether the
    /// command was carried out.
    func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply
    /// Runs a script, whose keys all lie in one slot.
    func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply
    /// Changes whenever commands may go to another server, or to one that may have come back with other data: who must
    /// know whether two commands met the same data compares.
    var connections: Int { get }
    /// Whether one command may name keys of several slots, and may block.
    var takesManySlots: Bool { get }
    /// Each server that has a part of the keys: what is about no key (SCAN, INFO, DBSIZE) is asked of every one. In an
    /// order that stays as long as the servers do.
    func parts() async throws(RedisError) -> [any RedisCommands]
}

extension RedisCommands {
    package var connections: Int { 0 }
    package var takesManySlots: Bool { true }
    /// One server has them all.
    package func parts() async throws(RedisError) -> [any RedisCommands] { [self] }
}
