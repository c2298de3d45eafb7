import Broker
import Gateway
import Redis
import Runtime

/// Whether keys and passwords could be guessed.
struct SecretsCheck: Check {
    let name = "secrets"
    let isRemote = false
    let patient: Patient

    func examine() async -> Finding {
        var findings: [Finding] = []
        for (name, secret) in patient.bearerKeys.sorted(by: { $0.key < $1.key }) {
            guard let weakness = Self.weakness(of: secret.value) else { continue }
            findings.append(
                .warning(
                    "keys.\(name) \(weakness)",
                    "Make another: openssl rand -hex 24 (what knows its SHA-256 is enough here)"))
        }
        let (broker, redis) = (patient.settings.broker, patient.settings.redis)
        if broker.user == "guest", broker.password.value == "guest", !HostName.isThisMachine(broker.host) {
            findings.append(
                .warning(
                    "RabbitMQ at \(broker.host) is used as guest with the password guest",
                    "rabbitmqctl add_user holdfast PASSWORD; broker.user and broker.passwordFile say so here"))
        }
        if redis.password == nil, !HostName.isThisMachine(redis.host) {
            findings.append(
                .warning(
                    "Redis at \(redis.host) is used without a password: who reaches it can grant anything",
                    "Set requirepass or an ACL user in Redis, and redis.passwordFile here."))
        }
        let count = patient.settings.gateway.keys.count
        if count == 0 {
            findings.append(.warning("no bearer key: nobody can read entitlements", "Add one under keys."))
        }
        return .of(
            findings,
            otherwise: count == 1 ? "1 bearer key, not to be guessed" : "\(count) bearer keys, not to be guessed")
    }

    /// What makes it easy to guess; nil if nothing does.
    static func weakness(of key: String) -> String? {
        let lower = key.lowercased()
        let words = ["changeme", "password", "secret", "123456", "abcdef0", "qwerty", "example", "default", "letmein"]
        if let word = words.first(where: lower.contains) { return "contains “\(word)”: it can be guessed" }
        if Set(key).count < 8 { return "has fewer than 8 different characters: it can be guessed" }
        if key.utf8.count < 22 { return "has \(key.utf8.count) characters; 22 or more cannot be tried out" }
        return nil
    }
}

enum HostName {
    static func isThisMachine(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }
}
