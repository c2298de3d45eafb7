package import Runtime

/// Makes links to the store, each with a connection of its own under a name for logs and metrics. Whoever needs Redis is
/// given one, and so does not know what the store is.
package struct RedisConnector: Sendable {
    private let make: @Sendable (_ name: String) -> any RedisLink

    package init(_ make: @escaping @Sendable (_ name: String) -> any RedisLink) { self.make = make }

    /// A link that is not started.
    package func link(_ name: String) -> any RedisLink { make(name) }
}

extension RedisSettings {
    /// Links as the settings want them. Their loop may be shared with others, whose jobs then must be short.
    package func connector(
        loop: EventLoop, metrics: Metrics = Metrics(), log: Log = .discarding
    ) -> RedisConnector {
        RedisConnector { name in
            switch mode {
            case .single: RedisClient(name: name, settings: self, loop: loop, metrics: metrics, log: log)
            case .cluster: RedisCluster(name: name, settings: self, loop: loop, metrics: metrics, log: log)
            case .sentinel: RedisSentinel(name: name, settings: self, loop: loop, metrics: metrics, log: log)
            }
        }
    }
}
