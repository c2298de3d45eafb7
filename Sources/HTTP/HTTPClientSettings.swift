/// What an `HTTPClient` may take: time, memory and connections.
package struct HTTPClientSettings: Sendable {
    /// From the start of the request until the connection stands, TLS included.
    package var connectTimeout: Duration
    /// From the start of the request until the last byte of the answer, unless the request says otherwise.
    package var totalTimeout: Duration
    package var maximumResponseBytes: Int
    package var maximumConnections: Int
    package var maximumConnectionsPerHost: Int
    /// Requests in flight or waiting for a connection; beyond it they fail as `overloaded`.
    package var maximumRequests: Int
    /// PEM file of the only roots to trust; nil trusts the system's.
    package var certificateAuthorityFile: String?
    package var userAgent: String

    package init(
        connectTimeout: Duration = .seconds(5), totalTimeout: Duration = .seconds(30),
        maximumResponseBytes: Int = 1 << 20, maximumConnections: Int = 64, maximumConnectionsPerHost: Int = 64,
        maximumRequests: Int = 4096, certificateAuthorityFile: String? = nil, userAgent: String = "holdfast"
    ) {
        self.connectTimeout = connectTimeout
        self.totalTimeout = totalTimeout
        self.maximumResponseBytes = maximumResponseBytes
        self.maximumConnections = maximumConnections
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.maximumRequests = maximumRequests
        self.certificateAuthorityFile = certificateAuthorityFile
        self.userAgent = userAgent
    }
}
