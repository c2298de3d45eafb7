import Glibc

/// A real Redis Cluster of the tests' own, of three masters, on loopback and free ports; gone when the test process ends.
///
/// Most tests share one without replicas and keep apart by app ids; those that do things to its nodes use `withOwn`.
package final class RedisClusterServers: Sendable {
    /// In the order in which they were started: three masters, then their replicas.
    package let nodes: [RedisServer]
    private let folder: TemporaryFolder

    package static func shared() async throws -> RedisClusterServers { try await one.value }

    private static let one = Task { try await RedisClusterServers(replicas: 0) }

    package static func withOwn<Value>(
        replicas: Int = 0, _ body: (RedisClusterServers) async throws -> Value
    ) async throws -> Value {
        let cluster = try await RedisClusterServers(replicas: replicas)
        let result: Result<Value, any Error>
        do { result = .success(try await body(cluster)) } catch { result = .failure(error) }
        for node in cluster.nodes { try await node.stop() }
        return try result.get()
    }

    private init(replicas: Int) async throws {
        let folder = try TemporaryFolder("cluster")
        self.folder = folder
        // A busy machine must not be taken for a dead node where nobody dies.
        let patience = replicas > 0 ? "3000" : "60000"
        let output = try await Command.ops(
            "redis",
            [
                "cluster", folder.path, "3", "\(replicas)", "--with-parent", "\(getpid())", "--remove", "--",
                "--cluster-node-timeout", patience,
            ])
        let ports = output.split(whereSeparator: \.isNewline).compactMap { Int($0) }
        guard ports.count == 3 * (1 + replicas) else { throw CommandError("no ports in \(output)") }
        nodes = ports.enumerated().map { index, port in
            RedisServer(port: port, path: folder.file("\(index + 1)"), in: folder)
        }
    }

    /// Some of the nodes as settings name them.
    package var addresses: [(host: String, port: Int)] { nodes.map { ($0.host, $0.port) } }

    /// The node on that port.
    package func node(_ port: Int) -> RedisServer? { nodes.first { $0.port == port } }

    /// The master that has a key's slot, as the other nodes see it.
    package func master(of key: String) async throws -> RedisServer {
        let slot = try await nodes[0].cli("CLUSTER", "KEYSLOT", key)
        for node in nodes {
            // A node refuses what is not its own.
            let answer = try await node.cli("EXISTS", key)
            if answer == "0" || answer == "1" { return node }
        }
        throw CommandError("nobody has slot \(slot)")
    }

    /// The id by which the others know a node.
    package func id(of node: RedisServer) async throws -> String { try await node.cli("CLUSTER", "MYID") }
}
