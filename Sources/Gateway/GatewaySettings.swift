internal import Entitlements
package import HTTP
package import Runtime

/// ## Keys
/// - `gateway.http.*`: the listener for Apple and for backends (`HTTPServerSettings`).
/// - `gateway.operations.*`: the listener for operators; not for the internet.
/// - `gateway.loops`: threads that serve connections.
/// - `gateway.intakeBodyBytes`: the largest notification.
/// - `gateway.purchaseBodyBytes`: the largest body of purchases that a backend posts.
/// - `gateway.claimLimit`: how long such a post waits for Redis before it is left to the consumers to decide.
/// - `gateway.brokerLimit`: how long a sender waits for the broker's confirm before its body goes to the spool.
/// - `gateway.readMaximumAge`: how long a backend may use an answer of level S again without asking.
/// - `gateway.refresh*`: how Apple is asked for reads that want it (`RefreshSettings`).
/// - `keys.<name>.*`: who may read, write, support, administer.
/// - `spool.*`: see `SpoolSettings`.
package struct GatewaySettings: Sendable {
    package var http = HTTPServerSettings(name: "http", address: "127.0.0.1:8080")
    package var operations = HTTPServerSettings(name: "operations", address: "127.0.0.1:8081")
    package var loops = 2
    package var intakeBodyBytes = 256 << 10
    package var purchaseBodyBytes = 1 << 20
    package var claimLimit = Duration.seconds(2)
    package var brokerLimit = Duration.seconds(2)
    package var readMaximumAge = Duration.seconds(10)
    package var refresh = RefreshSettings()
    package var keys: [BearerKey] = []
    package var spool: SpoolSettings

    package init(spool: SpoolSettings) { self.spool = spool }

    package init(_ settings: inout SettingsReader) {
        spool = SpoolSettings(&settings)
        http = HTTPServerSettings(
            &settings, name: "http", prefix: "gateway.http.", defaultAddress: "127.0.0.1:8080")
        operations = HTTPServerSettings(
            &settings, name: "operations", prefix: "gateway.operations.", defaultAddress: "127.0.0.1:8081")
        loops = settings.integer("gateway.loops", default: 2, in: 1...64, "Threads that serve connections.")
        intakeBodyBytes = settings.byteCount(
            "gateway.intakeBodyBytes", default: 256 << 10, in: 1024...(16 << 20), "Largest notification of Apple's.")
        purchaseBodyBytes = settings.byteCount(
            "gateway.purchaseBodyBytes", default: 1 << 20, in: 1024...(8 << 20),
            "Largest body of purchases that a backend posts for a customer.")
        claimLimit = settings.duration(
            "gateway.claimLimit", default: .seconds(2), in: .milliseconds(50)...(.seconds(30)),
            "How long posted purchases wait for Redis before they are left to the consumers to decide.")
        brokerLimit = settings.duration(
            "gateway.brokerLimit", default: .seconds(2), in: .milliseconds(50)...(.seconds(30)),
            "How long a notification waits for the broker's confirm before it goes to the spool.")
        readMaximumAge = settings.duration(
            "gateway.readMaximumAge", default: .seconds(10), in: .zero ... .seconds(60),
            "How long a backend may use an answer again without asking; `Cache-Control` tells it.")
        refresh = RefreshSettings(&settings)
        if spool.segmentBytes < 2 * max(intakeBodyBytes, purchaseBodyBytes) {
            settings.complain(
                about: "spool.segmentBytes",
                "must be at least twice gateway.intakeBodyBytes and gateway.purchaseBodyBytes")
        }
        for name in settings.names(in: "keys") {
            guard let key = settings.within("keys", name, { Self.key(name, &$0) }) else { continue }
            // Whose it is and what it allows would depend on their order.
            if let other = keys.first(where: { $0.digest == key.digest }) {
                settings.complain(about: "keys.\(name)", "is the same key as keys.\(other.name)")
            }
            keys.append(key)
        }
    }

    private static func key(_ name: String, _ settings: inout SettingsReader) -> BearerKey? {
        let secret = settings.secret("secret", "The key itself; it is sent as `Authorization: Bearer <key>`.")
        let digest = settings.optionalString(
            "digest", "SHA-256 of the key in hexadecimal, so that the key need not be here.")
        let words = settings.strings("scopes", default: ["read"], "What it allows: read, write, support, admin.")
        let apps = settings.strings("apps", default: [], "The apps it is good for; none named means all.")
        let scopes = words.compactMap(KeyScope.init)
        if scopes.count < words.count {
            settings.complain(
                about: "scopes", "must be of \(KeyScope.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let bytes: [UInt8]
        switch (secret, digest.map(hexadecimal)) {
        case (let secret?, nil):
            guard secret.value.utf8.count >= 16 else {
                settings.complain(aboutSecret: "secret", "must have at least 16 characters")
                return nil
            }
            bytes = BearerKey.digest(of: Array(secret.value.utf8))
        case (nil, let digest?):
            guard let digest, digest.count == 32 else {
                settings.complain(about: "digest", "must be the SHA-256 of the key, 64 hexadecimal digits")
                return nil
            }
            bytes = digest
        case (.some, .some):
            settings.complain(aboutSecret: "secret", "give the key itself or its digest, and not both")
            return nil
        case (nil, nil):
            // What is given and cannot be read has been complained about.
            if !["secret", "secretFile", "digest"].contains(where: settings.isGiven) {
                settings.complain(
                    about: "secret",
                    "give the key itself (secret or secretFile) or its digest, 64 hexadecimal digits (digest)")
            }
            return nil
        }
        return BearerKey(
            name: name, digest: bytes, scopes: Set(scopes), apps: apps.isEmpty ? nil : Set(apps.map { AppID($0) }))
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
