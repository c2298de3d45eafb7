package import Runtime

/// How an HTTP listener behaves. The defaults suit a listener on the internet.
///
/// | key | type | default | range |
/// |---|---|---|---|
/// | `address` | string | by listener | `127.0.0.1:8080`, `[::1]:8080`, `0.0.0.0:443`; port 0 takes a free one |
/// | `headerDeadline` | duration | 10s | 100ms…5m |
/// | `bodyDeadline` | duration | 30s | 100ms…1h |
/// | `idleDeadline` | duration | 60s | 100ms…1h |
/// | `writeDeadline` | duration | 30s | 100ms…1h |
/// | `lingerDeadline` | duration | 2s | 10ms…1m |
/// | `requestLineBytes` | size | 8KiB | 256…64KiB |
/// | `headerBytes` | size | 16KiB | 1KiB…256KiB |
/// | `headerCount` | integer | 100 | 10…1000 |
/// | `bodyBytes` | size | 256KiB | 0…64MiB |
/// | `connections` | integer | 10000 | 1…1000000 |
/// | `connectionsPerAddress` | integer | 1000 | 1…1000000 |
/// | `certificateFile`, `privateKeyFile` | string | none | both or neither; PEM |
package struct HTTPServerSettings: Sendable {
    package struct Certificate: Sendable, Equatable {
        /// The leaf first, then its intermediates, PEM.
        package var chainFile: String
        package var keyFile: String
        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    /// Names the listener in logs and metrics.
    package var name: String
    package var address: String
    /// From the first byte of a request, or from accepting a connection (a TLS handshake included), to the end of its
    /// header.
    package var headerDeadline: Duration = .seconds(10)
    /// From the end of a request's header to the end of its body.
    package var bodyDeadline: Duration = .seconds(30)
    /// How long a kept connection may be silent between requests.
    package var idleDeadline: Duration = .seconds(60)
    /// How long a client may take for each 64 KiB of what it is sent.
    package var writeDeadline: Duration = .seconds(30)
    /// How long what a client still sends is read and thrown away after the last answer; closing at once would reset the
    /// connection and take that answer away from it.
    package var lingerDeadline: Duration = .seconds(2)
    package var requestLineBytes = 8 << 10
    /// Request line and fields together.
    package var headerBytes = 16 << 10
    package var headerCount = 100
    /// The largest body, unless the handler says otherwise for a request.
    package var bodyBytes = 256 << 10
    package var connections = 10_000
    /// Of one IPv4 address, or one IPv6 /64.
    package var connectionsPerAddress = 1_000
    /// TLS is spoken when there is one.
    package var certificate: Certificate?

    package init(name: String = "http", address: String = "127.0.0.1:0") {
        self.name = name
        self.address = address
    }

    /// Reads keys relative to the reader's scope; `prefix` comes before each, such as `gateway.http.`.
    package init(_ settings: inout SettingsReader, name: String, prefix: String, defaultAddress: String) {
        self.init(name: name)
        address = settings.string(
            prefix + "address", default: defaultAddress, "Where to listen; port 0 takes a free one.")
        if ListenAddress(address) == nil {
            settings.complain(about: prefix + "address", "must be an address such as 127.0.0.1:8080 or [::1]:8080")
        }
        readDeadlines(&settings, prefix)
        readLimits(&settings, prefix)
        let chain = settings.optionalFile(
            prefix + "certificateFile", "Certificate chain in PEM, leaf first; TLS is spoken when it is given.")
        let key = settings.optionalFile(
            prefix + "privateKeyFile", holdsSecret: true, "The certificate's private key in PEM.")
        if let chain, let key { certificate = Certificate(chainFile: chain, keyFile: key) }
        let (chainName, keyName) = (prefix + "certificateFile", prefix + "privateKeyFile")
        if settings.isGiven(chainName) != settings.isGiven(keyName) {
            let (given, other) =
                settings.isGiven(chainName) ? (chainName, "privateKeyFile") : (keyName, "certificateFile")
            settings.complain(about: given, "needs \(other) beside it")
        }
    }

    private mutating func readDeadlines(_ settings: inout SettingsReader, _ prefix: String) {
        let upToAnHour = Duration.milliseconds(100)...Duration.seconds(3600)
        headerDeadline = settings.duration(
            prefix + "headerDeadline", default: headerDeadline, in: .milliseconds(100)...(.seconds(300)),
            "Time for a whole request header, a TLS handshake included.")
        bodyDeadline = settings.duration(
            prefix + "bodyDeadline", default: bodyDeadline, in: upToAnHour, "Time for a whole request body.")
        idleDeadline = settings.duration(
            prefix + "idleDeadline", default: idleDeadline, in: upToAnHour, "Silence allowed between requests.")
        writeDeadline = settings.duration(
            prefix + "writeDeadline", default: writeDeadline, in: upToAnHour,
            "Time a client may take for each 64 KiB of an answer.")
        lingerDeadline = settings.duration(
            prefix + "lingerDeadline", default: lingerDeadline, in: .milliseconds(10)...(.seconds(60)),
            "Time for a client to close after the last answer.")
    }

    private mutating func readLimits(_ settings: inout SettingsReader, _ prefix: String) {
        requestLineBytes = settings.byteCount(
            prefix + "requestLineBytes", default: requestLineBytes, in: 256...(64 << 10), "Longest request line.")
        headerBytes = settings.byteCount(
            prefix + "headerBytes", default: headerBytes, in: (1 << 10)...(256 << 10),
            "Largest request header, request line included.")
        headerCount = settings.integer(
            prefix + "headerCount", default: headerCount, in: 10...1000, "Most header fields of a request.")
        bodyBytes = settings.byteCount(
            prefix + "bodyBytes", default: bodyBytes, in: 0...(64 << 20), "Largest request body.")
        connections = settings.integer(
            prefix + "connections", default: connections, in: 1...1_000_000, "Most open connections.")
        connectionsPerAddress = settings.integer(
            prefix + "connectionsPerAddress", default: connectionsPerAddress, in: 1...1_000_000,
            "Most open connections of one IPv4 address or IPv6 /64.")
    }

    var parserLimits: RequestParser.Limits {
        RequestParser.Limits(requestLineBytes: requestLineBytes, headerBytes: headerBytes, headerCount: headerCount)
    }
}
