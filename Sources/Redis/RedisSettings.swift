package import Runtime

/// Where Redis is and how patient its clients are.
package struct RedisSettings: Sendable {
    package enum Mode: String, CaseIterable, Sendable { case single, cluster, sentinel }

    package var mode = Mode.single
    /// Some nodes of the cluster, or the sentinels.
    package var addresses: [RedisAddress] = []
    /// What the sentinels call the master.
    package var masterName = "mymaster"
    package var sentinelUser: String?
    package var sentinelPassword: Secret?
    /// How many replicas must have a write before it counts as stored.
    package var replicas = 0
    /// How often a cluster's nodes, or the sentinels, are asked who has what, when nothing else makes it necessary.
    package var topologyEvery = Duration.seconds(5)
    package var host = "127.0.0.1"
    package var port = 6379
    /// The ACL user; nil is Redis' default user.
    package var user: String?
    package var password: Secret?
    package var database = 0
    /// For resolving the name, connecting, authenticating and the first PING together.
    package var connectTimeout = Duration.seconds(3)
    /// From the call to the reply. Replies come in order, so one that is late condemns the whole connection.
    package var commandTimeout = Duration.seconds(2)
    /// The longest pause between two attempts to connect; the first is a fortieth of it.
    package var reconnectDelay = Duration.seconds(2)
    /// How often an idle connection is asked whether it is still there.
    package var heartbeat = Duration.seconds(1)
    /// Commands sent and not yet answered, per connection; one more is refused.
    package var commandsInFlight = 4096
    /// A longer reply condemns the connection.
    package var replyBytes = 64 << 20

    package init() {}

    /// Reads `redis.*`; each key says below what it is for.
    package init(_ settings: inout SettingsReader) {
        mode = settings.choice(
            "redis.mode", default: mode, "One server, a Redis Cluster, or a master that sentinels look after.")
        addresses = Self.addresses(&settings)
        masterName = settings.string("redis.masterName", default: masterName, "What the sentinels call the master.")
        sentinelUser = settings.optionalString("redis.sentinelUser", "ACL user at the sentinels.")
        sentinelPassword = settings.secret("redis.sentinelPassword", "Password at the sentinels.")
        replicas = settings.integer(
            "redis.replicas", default: replicas, in: 0...16,
            "Replicas that must have a write before it counts as stored (WAIT): a failover loses none that counted.")
        topologyEvery = settings.duration(
            "redis.topologyEvery", default: topologyEvery, in: .milliseconds(100) ... .seconds(60),
            "How often a cluster's nodes or the sentinels are asked who has what; a lost connection makes them asked at once."
        )
        host = settings.string("redis.host", default: host, "Name or address of Redis.")
        port = settings.integer("redis.port", default: port, in: 1...65535, "Port of Redis.")
        user = settings.optionalString("redis.user", "ACL user; Redis' default user when absent.")
        password = settings.secret("redis.password", "Password of the user.")
        database = settings.integer("redis.database", default: database, in: 0...1023, "Number of the database.")
        connectTimeout = settings.duration(
            "redis.connectTimeout", default: connectTimeout, in: .milliseconds(100) ... .seconds(60),
            "For resolving, connecting, authenticating and the first PING together.")
        commandTimeout = settings.duration(
            "redis.commandTimeout", default: commandTimeout, in: .milliseconds(10) ... .seconds(60),
            "From a command to its reply; a late reply breaks the connection.")
        reconnectDelay = settings.duration(
            "redis.reconnectDelay", default: reconnectDelay, in: .milliseconds(40) ... .seconds(60),
            "Longest pause between two attempts to connect.")
        heartbeat = settings.duration(
            "redis.heartbeat", default: heartbeat, in: .milliseconds(100) ... .seconds(60),
            "How often an idle connection is asked whether it is still there.")
        commandsInFlight = settings.integer(
            "redis.commandsInFlight", default: commandsInFlight, in: 1...1_000_000,
            "Commands sent and not yet answered, per connection.")
        replyBytes = settings.byteCount(
            "redis.replyBytes", default: replyBytes, in: 65536...(1 << 30), "Longest reply that is accepted.")
        if mode == .single, !addresses.isEmpty {
            settings.complain(
                about: "redis.addresses", "is for redis.mode cluster or sentinel; one server is redis.host")
        }
        if mode == .cluster, database != 0 {
            settings.complain(about: "redis.database", "must be 0: a Redis Cluster has one database")
        }
    }

    private static func addresses(_ settings: inout SettingsReader) -> [RedisAddress] {
        let texts = settings.strings(
            "redis.addresses",
            "Some nodes of the cluster, or the sentinels, each as host:port; redis.host when none is given.")
        var addresses: [RedisAddress] = []
        for text in texts {
            if let address = RedisAddress(text) {
                addresses.append(address)
            } else {
                settings.complain(about: "redis.addresses", "“\(text)” is no host:port")
            }
        }
        return addresses
    }

    /// Whom to ask first.
    package var seeds: [RedisAddress] { addresses.isEmpty ? [RedisAddress(host: host, port: port)] : addresses }
}
