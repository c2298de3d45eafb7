package import Broker

extension BrokerSettings {
    /// For a server of the tests, under names that no other test uses, and patient: the tests' machines are busy. What is
    /// about a deadline sets it.
    package init(_ server: RabbitMQServer, prefix: String = RabbitMQServer.uniquePrefix()) {
        self.init()
        host = server.host
        port = server.port
        self.prefix = prefix
        ledgerMaximumBytes = 64 << 20
        ledgerSegmentBytes = 4 << 20
        // Only a test that kills the server must wait for it to have written down its queues.
        topologySettleTime = .zero
        // What is late would be sent again.
        confirmTimeout = .seconds(30)
    }
}

extension BrokerInspector {
    /// Waits long for each answer: a server that was just killed and started again is slow.
    package init(patient settings: BrokerSettings) {
        var settings = settings
        settings.connectTimeout = .seconds(30)
        self.init(settings: settings)
    }
}
