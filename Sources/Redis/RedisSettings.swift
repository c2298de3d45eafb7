package import Runtime

/// Where Redis is and how patient its clients are.
package struct RedisSettings: Sendable {
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
    }
}
