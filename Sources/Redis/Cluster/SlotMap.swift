/// Which server of a cluster has which slot, as one of its nodes told it.
struct SlotMap: Equatable {
    /// The masters that have slots, in an order that does not depend on who was asked.
    private(set) var masters: [RedisAddress] = []
    /// For each slot the index of its master.
    private var owners = [Int16](repeating: -1, count: HashSlot.count)
    private(set) var replicas: Set<RedisAddress> = []

    /// More servers than a cluster can sensibly have: what names more is no cluster.
    private static let mostServers = 1000

    init() {}

    /// Reads the reply to CLUSTER SLOTS. A node that does not know its own host is where it was asked.
    init(_ reply: RedisReply, from asked: RedisAddress) throws(RedisError) {
        let wrong = RedisError(.unexpectedReply, "CLUSTER SLOTS")
        guard let ranges = reply.array else { throw wrong }
        var found: [(ClosedRange<Int>, RedisAddress)] = []
        for range in ranges {
            guard let fields = range.array, fields.count >= 3, let first = fields[0].integer,
                let last = fields[1].integer, 0...last ~= first, last < HashSlot.count
            else { throw wrong }
            for (index, node) in fields.dropFirst(2).enumerated() {
                guard let parts = node.array, parts.count >= 2, let port = parts[1].integer, 1...65535 ~= port
                else { throw wrong }
                // A replica whose address the node does not know (`?`) is left out.
                let host = parts[0].string ?? ""
                if host == "?" { continue }
                let address = RedisAddress(host: host.isEmpty ? asked.host : host, port: Int(port))
                if index == 0 {
                    found.append((Int(first)...Int(last), address))
                } else {
                    replicas.insert(address)
                }
            }
        }
        masters = Set(found.map(\.1)).sorted { ($0.host, $0.port) < ($1.host, $1.port) }
        guard masters.count + replicas.count <= Self.mostServers else { throw wrong }
        replicas.subtract(masters)
        let indices = Dictionary(uniqueKeysWithValues: masters.enumerated().map { ($1, Int16(clamping: $0)) })
        for (range, address) in found {
            for slot in range { owners[slot] = indices[address] ?? -1 }
        }
    }

    /// Nil when nobody has it.
    func owner(of slot: Int) -> RedisAddress? {
        guard owners.indices.contains(slot), owners[slot] >= 0 else { return nil }
        return masters[Int(owners[slot])]
    }

    var isComplete: Bool { !owners.contains(-1) }

    var servers: Set<RedisAddress> { replicas.union(masters) }

    /// Takes note that a slot has moved; the masters' order may become another one until the map is read anew.
    mutating func give(_ slot: Int, to address: RedisAddress) {
        guard owners.indices.contains(slot) else { return }
        if let index = masters.firstIndex(of: address) {
            owners[slot] = Int16(clamping: index)
        } else if masters.count < Self.mostServers {
            replicas.remove(address)
            masters.append(address)
            owners[slot] = Int16(clamping: masters.count - 1)
        }
    }
}
