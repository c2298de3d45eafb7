import HTTP
import Runtime
import TestSupport
import Testing

@Suite struct DrainTests {
    @Test func aDrainAnswersWhatIsOpenAndClosesTheRest() async throws {
        try await withServer { server in
            let port = server.port
            async let open = RawClient.talk(to: port) { client in
                try client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
                return try client.receiveAll()
            }
            async let idle = RawClient.talk(to: port) { client in
                try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
                return try client.receiveAll()
            }
            let areThere = try await eventually { server.handler.gate.waiting == 1 && server.openConnections == 2 }
            #expect(areThere)
            let drain = Task { await server.server.drain() }
            let answerOnKept = try await idle
            #expect(statuses(in: answerOnKept) == [200])
            await #expect(throws: SystemError.self) { try await RawClient.talk(to: port) { _ in } }
            server.handler.gate.open()
            let answer = try await open
            #expect(statuses(in: answer) == [200])
            #expect(answer.contains("Connection: close\r\n"))
            await drain.value
            #expect(server.openConnections == 0)
        }
    }

    @Test func aDrainLetsAHalfSentRequestEnd() async throws {
        try await withServer { server in
            let port = server.port
            let gate = Gate()
            async let answer = RawClient.talk(to: port) { client in
                try client.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
                let permission = try client.receive(upTo: "\r\n\r\n")
                gate.open()
                while (try? RawClient.open(.port(port)).finish()) != nil { client.pause(.milliseconds(2)) }
                try client.send("abc")
                return permission + (try client.receiveAll())
            }
            await gate.wait()
            let drain = Task { await server.server.drain() }
            let answers = try await answer
            #expect(statuses(in: answers) == [100, 200])
            await drain.value
        }
    }

    @Test func aDrainThatIsCancelledClosesAtOnce() async throws {
        try await withServer { server in
            let port = server.port
            async let open = RawClient.talk(to: port) { client in
                try client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
                return try client.receiveAll()
            }
            let isThere = try await eventually { server.handler.gate.waiting == 1 }
            #expect(isThere)
            let drain = Task { await server.server.drain() }
            drain.cancel()
            await drain.value
            let nothing = try await open
            #expect(nothing == "")
            #expect(server.openConnections == 0)
        }
    }

    @Test func anAddressThatIsTakenFailsTheStart() async throws {
        try await withServer { server in
            let loop = try EventLoop(name: "http")
            defer { loop.stop() }
            for address in ["127.0.0.1:\(server.port)", "nonsense", "localhost:1", "1.2.3.4"] {
                let second = HTTPServer(
                    settings: HTTPServerSettings(address: address), loops: [loop], handler: TestHandler(),
                    metrics: Metrics(), log: .discarding)
                await #expect(throws: (any Error).self) { try await second.start() }
            }
        }
    }

    @Test func itListensOnIPv6() async throws {
        try await withServer({ $0.address = "[::1]:0" }) { server in #expect(server.port > 0) }
    }
}
