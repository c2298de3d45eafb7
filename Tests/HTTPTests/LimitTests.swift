import HTTP
import Runtime
import TestSupport
import Testing

@Suite struct LimitTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    private static func refused(_ server: RunningServer, _ reason: String) -> UInt64 {
        server.value("holdfast_http_refused_total", ["listener": "http", "reason": reason])
    }

    /// Sends `start`, then one byte after the other until the server ends the connection, and says what it answered.
    private static func trickle(_ start: String, to port: Int) async throws -> String {
        try await RawClient.talk(to: port) { client in
            try client.send(start)
            var answer = ""
            while answer.isEmpty {
                try client.send("a")
                answer = try client.receiveWithin(.milliseconds(20))
            }
            return answer
        }
    }

    @Test func aSlowHeaderIsCutAndOthersAreNotDisturbed() async throws {
        try await withServer({ $0.headerDeadline = .milliseconds(300) }) { server in
            async let slow = Self.trickle("GET /a HTTP/1.1\r\nX: ", to: server.port)
            for _ in 0..<20 {
                let answer = try await RawClient.talk(to: server.port) { client in
                    try client.send(Self.get)
                    return try client.receive(upTo: "/a 0")
                }
                #expect(statuses(in: answer) == [200])
            }
            let slowAnswer = try await slow
            #expect(statuses(in: slowAnswer) == [408])
            #expect(Self.refused(server, "header-deadline") == 1)
        }
    }

    @Test func aSlowBodyIsCut() async throws {
        try await withServer({ $0.bodyDeadline = .milliseconds(200) }) { server in
            let start = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
            let byLength = try await Self.trickle(start, to: server.port)
            #expect(statuses(in: byLength) == [408])
            let chunks = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n"
            let inChunks = try await Self.trickle(chunks, to: server.port)
            #expect(statuses(in: inChunks) == [408])
            #expect(Self.refused(server, "body-deadline") == 2)
        }
    }

    @Test func aSilentConnectionIsClosedWithoutAWord() async throws {
        try await withServer({ $0.headerDeadline = .milliseconds(100) }) { server in
            let answer = try await RawClient.talk(to: server.port) { try $0.receiveAll() }
            #expect(answer.isEmpty)
        }
    }

    @Test func aKeptConnectionIsClosedWhenItStaysIdle() async throws {
        try await withServer({ $0.idleDeadline = .milliseconds(100) }) { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                try client.send(Self.get)
                return try client.receiveAll()
            }
            #expect(statuses(in: answer) == [200])
        }
    }

    @Test func aClientThatDoesNotReadIsCut() async throws {
        try await withServer({ $0.writeDeadline = .milliseconds(200) }) { server in
            let isCut = try await RawClient.talk(to: server.port) { client in
                for _ in 0..<3 { try client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n") }
                // Not reading is the point; the server's end shows in its count.
                let end = ContinuousClock.now + .seconds(10)
                while ContinuousClock.now < end {
                    if Self.refused(server, "write-deadline") == 1 { return true }
                    client.pause(.milliseconds(5))
                }
                return false
            }
            #expect(isCut)
        }
    }

    @Test func aSlowReaderGetsEverythingAndNothingPilesUpForIt() async throws {
        try await withServer { server in
            let total = try await RawClient.talk(to: server.port) { client in
                for _ in 0..<6 { try client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n") }
                var total = try client.receive().count
                // One answer fills the sockets on both sides, so the others wait for their turn.
                let answered = server.value("holdfast_http_requests_total", ["listener": "http", "status": "2xx"])
                #expect(answered <= 2)
                try client.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while case let count = try client.receive().count, count > 0 { total += count }
                return total
            }
            #expect(total > 6 * (8 << 20))
        }
    }

    @Test func connectionsAreLimitedInAllAndByAddress() async throws {
        for change in [
            { (settings: inout HTTPServerSettings) in settings.connections = 1 },
            { (settings: inout HTTPServerSettings) in settings.connectionsPerAddress = 1 },
        ] {
            try await withServer(change) { server in
                let port = server.port
                try await RawClient.talk(to: port) { client in
                    try client.send(Self.get)
                    _ = try client.receive(upTo: "/a 0")
                    let other = try RawClient.open(.port(port))
                    #expect(try statuses(in: other.receiveAll()) == [503])
                    other.finish()
                }
                #expect(Self.refused(server, "connections") == 1)
                let isFree = try await eventually { server.openConnections == 0 }
                #expect(isFree)
                let answer = try await RawClient.talk(to: port) { client in
                    try client.send(Self.get)
                    return try client.receive(upTo: "/a 0")
                }
                #expect(statuses(in: answer) == [200])
            }
        }
    }

    @Test func aBodyMayBeAsLargeAsTheLimitAndNoLarger() async throws {
        try await withServer({ $0.bodyBytes = 100_000 }) { server in
            let answers = try await RawClient.talk(to: server.port) { client in
                for size in [100_000, 100_001] {
                    try client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                    try client.send("\(String(size, radix: 16))\r\n\(String(repeating: "a", count: size))\r\n0\r\n\r\n")
                }
                return try client.receiveAll()
            }
            #expect(statuses(in: answers) == [200, 413])
        }
    }

    @Test func aClientThatDiesDoesNoHarm() async throws {
        try await withServer { server in
            for start in [
                "", "GET /", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na", Self.get + Self.get,
            ] {
                try await RawClient.talk(to: server.port) { client in
                    client.resetOnClose()
                    try client.send(start)
                }
            }
            let handler = server.handler
            for isReset in [true, false] {
                try await RawClient.talk(to: server.port) { client in
                    if isReset { client.resetOnClose() }
                    try client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n" + Self.get)
                    while handler.gate.waiting < (isReset ? 1 : 2) { client.pause(.milliseconds(2)) }
                }
            }
            // Two tasks work for clients that are gone, and count until they end.
            let areCounted = try await eventually { server.openConnections == 2 }
            #expect(areCounted)
            handler.gate.open()
            let areGone = try await eventually { server.openConnections == 0 }
            #expect(areGone)
        }
    }
}
