/// Which key a command is about, which says where in a cluster it belongs.
enum CommandKey {
    /// The first key; the server refuses a command whose keys lie in several slots. Nil when it is about none.
    static func of(_ arguments: [RedisArgument]) -> [UInt8]? {
        func bytes(_ index: Int) -> [UInt8]? {
            guard arguments.indices.contains(index) else { return nil }
            var bytes: [UInt8] = []
            arguments[index].append(to: &bytes)
            return bytes
        }
        func text(_ index: Int) -> String { String(decoding: bytes(index) ?? [], as: UTF8.self).uppercased() }
        switch text(0) {
        case "PING", "TIME", "INFO", "CONFIG", "CLUSTER", "ACL", "CLIENT", "COMMAND", "SCRIPT", "WAIT", "ROLE",
            "DBSIZE", "SCAN", "KEYS", "FLUSHALL":
            return nil
        case "EVAL", "EVALSHA": return text(2) == "0" ? nil : bytes(3)
        case "XINFO", "OBJECT": return bytes(2)
        case "XREAD":
            return arguments.indices.first { text($0) == "STREAMS" }.flatMap { bytes($0 + 1) }
        default: return bytes(1)
        }
    }

    /// Whether the answer of one server would pass for that of all.
    static func isAboutAllKeys(_ arguments: [RedisArgument]) -> Bool {
        var name: [UInt8] = []
        arguments.first?.append(to: &name)
        return ["SCAN", "KEYS", "DBSIZE", "FLUSHALL"].contains(String(decoding: name, as: UTF8.self).uppercased())
    }
}
