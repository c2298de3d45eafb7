package import Runtime

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
    /// URL of a proxy; nil is none, whatever the environment says.
    package var proxy: String?
    package var userAgent: String

    package init(
        connectTimeout: Duration = .seconds(5), totalTimeout: Duration = .seconds(30),
        maximumResponseBytes: Int = 1 << 20, maximumConnections: Int = 64, maximumConnectionsPerHost: Int = 64,
        maximumRequests: Int = 4096, certificateAuthorityFile: String? = nil, proxy: String? = nil,
        userAgent: String = "holdfast"
    ) {
        self.connectTimeout = connectTimeout
        self.totalTimeout = totalTimeout
        self.maximumResponseBytes = maximumResponseBytes
        self.maximumConnections = maximumConnections
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.maximumRequests = maximumRequests
        self.certificateAuthorityFile = certificateAuthorityFile
        self.proxy = proxy
        self.userAgent = userAgent
    }

    /// Reads `<prefix>…`; `fallback` is what holds where nothing is set.
    package init(_ settings: inout SettingsReader, prefix: String, default fallback: HTTPClientSettings) {
        self = fallback
        connectTimeout = settings.duration(
            prefix + "connectTimeout", default: fallback.connectTimeout, in: .milliseconds(10) ... .seconds(60),
            "From the start of a request until the connection stands, TLS included.")
        totalTimeout = settings.duration(
            prefix + "timeout", default: fallback.totalTimeout, in: .milliseconds(10) ... .seconds(600),
            "From the start of a request until the last byte of the answer.")
        maximumResponseBytes = settings.byteCount(
            prefix + "responseBytes", default: fallback.maximumResponseBytes, in: 1024...(1 << 30),
            "Longest answer that is taken.")
        maximumConnections = settings.integer(
            prefix + "connections", default: fallback.maximumConnections, in: 1...4096,
            "Connections at once; over HTTP/2, one carries many requests.")
        maximumConnectionsPerHost = maximumConnections
        maximumRequests = settings.integer(
            prefix + "requests", default: fallback.maximumRequests, in: 1...1_000_000,
            "Requests in flight or waiting for a connection; one more fails at once.")
        certificateAuthorityFile =
            settings.optionalFile(
                prefix + "certificateAuthorityFile",
                "PEM file of the only roots to trust for TLS; the system's when absent.")
            ?? fallback.certificateAuthorityFile
        proxy =
            settings.optionalString(
                prefix + "proxy",
                "URL of a proxy, such as http://proxy.internal:3128; none when absent, whatever the environment says.")
            ?? fallback.proxy
        if let proxy, !["http://", "https://", "socks5h://"].contains(where: { proxy.hasPrefix($0) }) {
            settings.complain(about: prefix + "proxy", "must begin with http://, https:// or socks5h://")
        }
    }
}
