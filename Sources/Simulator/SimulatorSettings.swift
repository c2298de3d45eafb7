internal import HTTP

/// What a running simulator needs to know.
package struct SimulatorSettings: Sendable {
    package var store: StoreSettings
    package var catalog: Catalog
    package var address: String
    /// Where notifications go; nil sends none, as an app without a URL in App Store Connect.
    package var notificationURL: String?
    /// Where they go while nobody accepts a connection there, as behind a load balancer; the first that does has it.
    package var otherNotificationURLs: [String]
    /// POSTs under way at once, outside of a burst.
    package var connections: Int
    /// How long one POST may take, on the real clock.
    package var sendTimeout: Duration
    /// Notifications that the history remembers.
    package var maximumHistory: Int
    /// Events that `GET /control/events` remembers.
    package var maximumEvents: Int
    /// Accounts there may be.
    package var maximumAccounts: Int
    /// Of the gateway's certificate; nil trusts the system's.
    package var certificateAuthorityFile: String?

    package init(
        store: StoreSettings, catalog: Catalog, address: String = "127.0.0.1:0", notificationURL: String? = nil,
        otherNotificationURLs: [String] = [], connections: Int = 16, sendTimeout: Duration = .seconds(10),
        maximumHistory: Int = 100_000,
        maximumEvents: Int = 20_000, maximumAccounts: Int = 200_000, certificateAuthorityFile: String? = nil
    ) {
        self.store = store
        self.catalog = catalog
        self.address = address
        self.notificationURL = notificationURL
        self.otherNotificationURLs = otherNotificationURLs
        self.connections = connections
        self.sendTimeout = sendTimeout
        self.maximumHistory = maximumHistory
        self.maximumEvents = maximumEvents
        self.maximumAccounts = maximumAccounts
        self.certificateAuthorityFile = certificateAuthorityFile
    }

    var client: HTTPClientSettings {
        HTTPClientSettings(
            connectTimeout: min(.seconds(5), sendTimeout), totalTimeout: sendTimeout, maximumResponseBytes: 64 << 10,
            maximumConnections: Self.maximumConnections, maximumConnectionsPerHost: Self.maximumConnections,
            certificateAuthorityFile: certificateAuthorityFile, userAgent: "Holdfast-Simulator")
    }

    static let maximumConnections = 1024
}
