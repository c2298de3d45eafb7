import Testing

@testable import Redis

@Suite struct HashSlotTests {
    @Test(arguments: [
        ("", 0), ("123456789", 0x31C3 % 16384), ("foo", 12182), ("{user1000}.following", 3443), ("user1000", 3443),
        ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015), ("{bar", 4015), ("foo{bar}{zap}", 5061),
    ])
    func aKeysSlotIsTheOneThatRedisPutsItIn(_ key: String, _ slot: Int) {
        #expect(HashSlot.of(Array(key.utf8)) == slot)
    }

    @Test(arguments: [
        (["GET", "a"], "a"), (["HSET", "b", "f", "v"], "b"), (["EVALSHA", "0123", "2", "c", "d", "x"], "c"),
        (["EVAL", "return 1", "0"], nil), (["XREAD", "COUNT", "5", "STREAMS", "s", "0"], "s"),
        (["xread", "block", "5", "streams", "s", "0"], "s"), (["XINFO", "STREAM", "s"], "s"), (["PING"], nil),
        (["INFO", "server"], nil), (["SCAN", "0"], nil), (["GET"], nil), ([], nil), (["XREAD", "STREAMS"], nil),
    ])
    func theKeyOfACommandIsFound(_ command: [String], _ key: String?) {
        let found = CommandKey.of(command.map { .text($0) }).map { String(decoding: $0, as: UTF8.self) }
        #expect(found == key)
    }

    @Test(arguments: [
        ("MOVED 3999 127.0.0.1:6381", ClusterRefusal.moved(slot: 3999, host: "127.0.0.1", port: 6381)),
        ("MOVED 3999 :6381", .moved(slot: 3999, host: nil, port: 6381)),
        ("ASK 3999 ::1:6381", .ask(host: "::1", port: 6381)), ("TRYAGAIN Multiple keys", .wait),
        ("CLUSTERDOWN The cluster is down", .wait), ("MOVED 16384 127.0.0.1:6381", nil), ("MOVED 1 127.0.0.1", nil),
        ("MOVED -1 127.0.0.1:1", nil), ("MOVED", nil), ("MOVED 1 h:0", nil), ("MOVED 1 h:99999999999999999999", nil),
        ("ERR other", nil), ("", nil),
    ])
    func aNodesRefusalIsUnderstood(_ message: String, _ refusal: ClusterRefusal?) {
        #expect(ClusterRefusal(message) == refusal)
    }

    private func range(_ first: Int64, _ last: Int64, _ nodes: (String?, Int64)...) -> RedisReply {
        .array(
            [.integer(first), .integer(last)]
                + nodes.map { host, port in
                    .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port), .bulk([]), .array([])])
                })
    }

    @Test func aMapSaysWhoHasWhat() throws {
        let asked = RedisAddress(host: "10.0.0.1", port: 1)
        let map = try SlotMap(
            .array([range(0, 8191, ("b", 2), ("c", 3)), range(8192, 16382, (nil, 1), ("?", 9))]), from: asked)
        #expect(map.owner(of: 0) == RedisAddress(host: "b", port: 2))
        #expect(map.owner(of: 8192) == asked)
        #expect(map.owner(of: 16383) == nil)
        #expect(map.owner(of: 99999) == nil)
        #expect(!map.isComplete)
        #expect(map.masters == [asked, RedisAddress(host: "b", port: 2)])
        #expect(map.replicas == [RedisAddress(host: "c", port: 3)])
        var moved = map
        moved.give(16383, to: RedisAddress(host: "c", port: 3))
        #expect(moved.isComplete)
        #expect(moved.owner(of: 16383) == RedisAddress(host: "c", port: 3))
        #expect(moved != map)
    }

    @Test func whatIsNoMapIsRefused() {
        let asked = RedisAddress(host: "h", port: 1)
        for reply: RedisReply in [
            .null, .array([.integer(1)]), .array([range(0, 16384, ("a", 1))]), .array([range(5, 4, ("a", 1))]),
            .array([range(-1, 4, ("a", 1))]), .array([range(0, 1, ("a", 0))]), .array([range(0, 1)]),
            .array([range(0, Int64.max, ("a", 1))]), .array((0..<1001).map { range($0, $0, ("a", $0 + 1)) }),
        ] {
            #expect(throws: RedisError.self) { try SlotMap(reply, from: asked) }
        }
    }

    @Test(arguments: [
        ("a:1", "a:1"), ("[::1]:6379", "[::1]:6379"), ("redis.example:65535", "redis.example:65535"), ("a", nil),
        (":1", nil), ("a:0", nil), ("a:65536", nil), ("a:x", nil), ("", nil),
    ])
    func anAddressIsReadFromText(_ text: String, _ address: String?) {
        #expect(RedisAddress(text)?.description == address)
    }
}
