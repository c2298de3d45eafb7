import Redis
import Runtime

/// One server that has a part of the store, with what it says of itself.
struct RedisPart: Sendable {
    /// Where it is; the link's name when it is the only one.
    let place: String
    let commands: any RedisCommands
    let info: RedisInfo

    static func all(of link: any RedisLink) async throws(RedisError) -> [RedisPart] {
        var parts: [RedisPart] = []
        for server in try await link.parts() {
            let text = try await server.send(["INFO"]).string ?? ""
            // The clients of a cluster's link are called by its name and their address.
            let name = (server as? any RedisLink)?.name ?? ""
            parts.append(
                RedisPart(
                    place: String(name.split(separator: " ").last ?? ""), commands: server, info: RedisInfo(text)))
        }
        return parts
    }

    /// Where its replicas are, as they told it.
    var replicas: [RedisAddress] {
        (0..<(info.number("connected_slaves") ?? 0)).compactMap { number in
            // `ip=…,port=…,state=…,offset=…,lag=…`
            var fields: [Substring: Substring] = [:]
            for field in (info["slave\(number)"] ?? "").split(separator: ",") {
                let parts = field.split(separator: "=", maxSplits: 1)
                if parts.count == 2 { fields[parts[0]] = parts[1] }
            }
            guard let host = fields["ip"], let port = fields["port"] else { return nil }
            return RedisAddress(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
    }
}

/// What Redis says of itself to INFO.
struct RedisInfo: Sendable {
    private let fields: [String: String]

    init(_ text: String) {
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
        }
        self.fields = fields
    }

    subscript(_ name: String) -> String? { fields[name] }
    func number(_ name: String) -> Int? { fields[name].flatMap { Int($0) } }
}
