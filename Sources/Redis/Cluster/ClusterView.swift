/// What one node of a cluster says of it.
package struct ClusterView: Sendable {
    let map: SlotMap
    /// Whether the node holds that the cluster works.
    let isWorking: Bool
    /// The latest vote that the node knows of; a node that was cut off knows of older ones only.
    let epoch: UInt64

    init(of node: RedisClient, at address: RedisAddress) async throws(RedisError) {
        let info = try await node.send(["CLUSTER", "INFO"]).string ?? ""
        var fields: [Substring: Substring] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        isWorking = fields["cluster_state"] == "ok"
        epoch = fields["cluster_current_epoch"].flatMap { UInt64($0) } ?? 0
        map = try SlotMap(try await node.send(["CLUSTER", "SLOTS"]), from: address)
    }

    /// Whom to believe when nodes do not agree: one for which the cluster works, then the one with the latest vote.
    func isLessTrusted(than other: ClusterView) -> Bool {
        (isWorking ? 1 : 0, epoch, map.servers.count) < (other.isWorking ? 1 : 0, other.epoch, other.map.servers.count)
    }

    /// Whether slots are on their way to or from this node.
    static func isMovingSlots(_ node: any RedisCommands) async throws(RedisError) -> Bool {
        try await slots(of: node).contains { $0.hasPrefix("[") }
    }

    /// The slots that a node has, and in brackets those that come or go.
    package static func slots(of node: any RedisCommands) async throws(RedisError) -> [Substring] {
        let nodes = try await node.send(["CLUSTER", "NODES"]).string ?? ""
        // `<id> <address> <flags> <master> <ping> <pong> <epoch> <link> <slot>…`
        for line in nodes.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: " ")
            if words.count >= 8, words[2].split(separator: ",").contains("myself") { return Array(words.dropFirst(8)) }
        }
        return []
    }
}
