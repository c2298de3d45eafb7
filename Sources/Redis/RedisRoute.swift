/// How a client finds its server, asked anew before each attempt to connect.
struct RedisRoute: Sendable {
    let locate: @Sendable () async throws(RedisError) -> RedisAddress
    /// Whether a server is taken only when it says that it is a master, and left when it says that it takes no writes.
    let wantsMaster: Bool

    init(wantsMaster: Bool = false, _ locate: @escaping @Sendable () async throws(RedisError) -> RedisAddress) {
        self.locate = locate
        self.wantsMaster = wantsMaster
    }

    static func fixed(_ address: RedisAddress) -> RedisRoute { RedisRoute { address } }
}
