package import Runtime

/// Where the broker is, how long to wait for it, and how large its queues may grow.
package struct BrokerSettings: Sendable {
    package struct TLS: Sendable {
        /// PEM file of the authorities that the broker's certificate must come from.
        package var certificateAuthorityFile: String
        /// PEM files of a certificate of ours and its key, if the broker asks for one.
        package var certificateFile: String?
        package var keyFile: String?

        package init(certificateAuthorityFile: String, certificateFile: String? = nil, keyFile: String? = nil) {
            self.certificateAuthorityFile = certificateAuthorityFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    package var host = "127.0.0.1"
    package var port = 5672
    package var virtualHost = "/"
    package var user = "guest"
    package var password = Secret("guest")
    package var tls: TLS?
    /// What the names of all exchanges and queues begin with.
    package var prefix = "holdfast"

    package var heartbeat = Duration.seconds(10)
    /// For each step of connecting, and for each request that waits for an answer.
    package var connectTimeout = Duration.seconds(5)
    package var reconnectMinimum = Duration.milliseconds(100)
    package var reconnectMaximum = Duration.seconds(5)
    /// A call that cannot hand its bytes to the kernel for so long costs the connection.
    package var writeTimeout = Duration.seconds(2)

    /// From the call of `publish` to the confirm.
    package var confirmTimeout = Duration.seconds(3)
    /// A confirm outstanding for longer makes the publisher unhealthy.
    package var healthLimit = Duration.seconds(1)
    /// A confirm outstanding for longer, with no alarm on, costs the connection.
    package var stallLimit = Duration.seconds(30)
    /// Messages sent and not confirmed.
    package var publishWindow = 256
    /// Calls of `publish` waiting for a place in the window.
    package var maximumWaiting = 4096
    /// The bodies of those that wait.
    package var maximumWaitingBytes = 64 << 20

    /// Deliveries in hand at a time.
    package var prefetch = 64

    package var applyMaximumLength = 1_000_000
    package var quarantineMaximumLength = 100_000
    package var ledgerMaximumBytes = 8 << 30
    package var ledgerMaximumAge = Duration.seconds(30 * 86400)
    package var ledgerSegmentBytes = 64 << 20
    /// How long RabbitMQ may take to write down that a queue exists (see `Topology`). Not for operators to change.
    package var topologySettleTime = Duration.milliseconds(1500)

    package init() {}

    package var names: BrokerNames { BrokerNames(prefix: prefix) }
}

extension BrokerSettings {
    /// Reads the keys under `broker`.
    package init(_ settings: inout SettingsReader) {
        self.init()
        host = settings.string("broker.host", default: host, "Host of RabbitMQ.")
        port = settings.integer("broker.port", default: port, in: 1...65535, "Port of RabbitMQ.")
        virtualHost = settings.string("broker.virtualHost", default: virtualHost, "Virtual host that holds the queues.")
        user = settings.string("broker.user", default: user, "User to log in as.")
        password = settings.secret("broker.password", default: "guest", "Password of the user.") ?? password
        let authority = settings.optionalFile(
            "broker.tls.certificateAuthorityFile", "PEM file of the authorities to trust; given, TLS is used.")
        let certificate = settings.optionalFile("broker.tls.certificateFile", "PEM file of our own certificate.")
        let key = settings.optionalFile(
            "broker.tls.keyFile", holdsSecret: true, "PEM file of the key of our own certificate.")
        if let authority {
            tls = TLS(certificateAuthorityFile: authority, certificateFile: certificate, keyFile: key)
        } else if !settings.isGiven("broker.tls.certificateAuthorityFile"), certificate != nil || key != nil {
            settings.complain(about: "broker.tls.certificateAuthorityFile", "is needed for TLS")
        }
        if settings.isGiven("broker.tls.certificateFile") != settings.isGiven("broker.tls.keyFile") {
            settings.complain(about: "broker.tls.keyFile", "goes with broker.tls.certificateFile")
        }
        prefix = settings.string("broker.prefix", default: prefix, "What all names of exchanges and queues begin with.")
        heartbeat = settings.duration(
            "broker.heartbeat", default: heartbeat, in: .seconds(1)...(.seconds(600)),
            "Silence after which the connection counts as lost is twice this.")
        connectTimeout = settings.duration(
            "broker.connectTimeout", default: connectTimeout, in: .milliseconds(100)...(.seconds(60)),
            "For each step of connecting.")
        reconnectMinimum = settings.duration(
            "broker.reconnectMinimum", default: reconnectMinimum, in: .milliseconds(10)...(.seconds(60)),
            "First wait before connecting again; doubles each time.")
        reconnectMaximum = settings.duration(
            "broker.reconnectMaximum", default: reconnectMaximum, in: .milliseconds(100)...(.seconds(600)),
            "Longest wait before connecting again.")
        writeTimeout = settings.duration(
            "broker.writeTimeout", default: writeTimeout, in: .milliseconds(100)...(.seconds(60)),
            "A write that blocks for longer costs the connection.")
        confirmTimeout = settings.duration(
            "broker.confirmTimeout", default: confirmTimeout, in: .milliseconds(50)...(.seconds(60)),
            "Longest wait for the broker's confirm of a message.")
        healthLimit = settings.duration(
            "broker.healthLimit", default: healthLimit, in: .milliseconds(50)...(.seconds(60)),
            "A confirm outstanding for longer sends what comes to the spool.")
        stallLimit = settings.duration(
            "broker.stallLimit", default: stallLimit, in: .seconds(1)...(.seconds(600)),
            "A confirm outstanding for longer costs the connection.")
        publishWindow = settings.integer(
            "broker.publishWindow", default: publishWindow, in: 1...65535, "Messages sent and not yet confirmed.")
        maximumWaiting = settings.integer(
            "broker.maximumWaiting", default: maximumWaiting, in: 1...1_000_000,
            "Messages waiting for a place in the window.")
        maximumWaitingBytes = settings.byteCount(
            "broker.maximumWaitingBytes", default: maximumWaitingBytes, in: (1 << 20)...(1 << 40),
            "Bodies of the messages waiting for a place in the window.")
        prefetch = settings.integer(
            "broker.prefetch", default: prefetch, in: 1...65535, "Deliveries in hand at a time.")
        applyMaximumLength = settings.integer(
            "broker.applyMaximumLength", default: applyMaximumLength, in: 1...1_000_000_000,
            "Messages in the work queue and in each retry queue; beyond it publishers are refused.")
        quarantineMaximumLength = settings.integer(
            "broker.quarantineMaximumLength", default: quarantineMaximumLength, in: 1...1_000_000_000,
            "Messages in quarantine; beyond it publishers are refused.")
        ledgerMaximumBytes = settings.byteCount(
            "broker.ledgerMaximumBytes", default: ledgerMaximumBytes, in: (1 << 20)...(1 << 50),
            "Size of the ledger; the oldest segments beyond it are removed.")
        ledgerMaximumAge = settings.duration(
            "broker.ledgerMaximumAge", default: ledgerMaximumAge, in: .seconds(60)...(.seconds(3650 * 86400)),
            "Age of the ledger; older segments are removed.")
        ledgerSegmentBytes = settings.byteCount(
            "broker.ledgerSegmentBytes", default: ledgerSegmentBytes, in: (1 << 20)...(3 << 30),
            "Size of a segment of the ledger.")
    }
}
