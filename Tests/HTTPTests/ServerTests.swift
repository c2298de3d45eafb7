import HTTP
import Runtime
import TestSupport
import Testing

@Suite struct ServerTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let last = "GET /z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    @Test func anAnswerCarriesLengthAndDateAndTheConnectionIsKept() async throws {
        try await withServer { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                try client.send(Self.get)
                let first = try client.receive(upTo: "/a 0")
                try client.send(Self.last)
                return first + (try client.receiveAll())
            }
            #expect(statuses(in: answer) == [200, 200])
            #expect(answer.contains("\r\nContent-Length: 4\r\n"))
            #expect(answer.contains("\r\nDate: "))
            #expect(answer.contains("\r\nConnection: close\r\n"))
            #expect(server.value("holdfast_http_requests_total", ["listener": "http", "status": "2xx"]) == 2)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrderWhetherNowOrLater() async throws {
        try await withServer { server in
            let paths = (0..<200).map { $0 % 3 == 0 ? "/later\($0)" : "/now\($0)" }
            let answer = try await RawClient.talk(to: server.port) { client in
                for path in paths {
                    try client.send("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
                }
                try client.send(Self.last)
                return try client.receiveAll()
            }
            let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != " " } }
            check(bodies == (paths + ["/z"]).map { $0[...] })
        }
    }

    @Test func headHasTheLengthButNotTheBody() async throws {
        try await withServer { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                try client.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return try client.receiveAll()
            }
            #expect(answer.contains("Content-Length: 4\r\n"))
            #expect(answer.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func aClientThatWaitsForPermissionIsToldToContinue() async throws {
        try await withServer { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                try client.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
                let permission = try client.receive(upTo: "\r\n\r\n")
                try client.send("abc")
                try client.send(Self.last)
                return permission + (try client.receiveAll())
            }
            #expect(statuses(in: answer) == [100, 200, 200])
            #expect(answer.contains("/a 3"))
        }
    }

    @Test func aRefusalIsAProblemDocumentAndEndsTheConnection() async throws {
        try await withServer { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                try client.send("GET /a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n" + Self.get)
                return try client.receiveAll()
            }
            #expect(statuses(in: answer) == [400])
            #expect(answer.contains("application/problem+json"))
            #expect(answer.contains("\"type\":\"urn:holdfast:problem:http:field\""))
            #expect(server.value("holdfast_http_refused_total", ["listener": "http", "reason": "field"]) == 1)
        }
    }

    @Test func theHandlerJudgesARequestBeforeItsBodyIsRead() async throws {
        try await withServer { server in
            let answers = try await RawClient.talk(to: server.port) { client in
                try client.send("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd")
                try client.send("GET /refused HTTP/1.1\r\nHost: x\r\n\r\n")
                try client.send("POST /small HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                return try client.receiveAll()
            }
            #expect(statuses(in: answers) == [200, 403, 413])
            let refused = try await RawClient.talk(to: server.port) { client in
                try client.send(
                    "POST /refused HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                return try client.receiveAll()
            }
            #expect(statuses(in: refused) == [403])
        }
    }

    @Test func anAnswerArrivesWholeAtAClientThatStillSendsItsRefusedBody() async throws {
        try await withServer { server in
            let answer = try await RawClient.talk(to: server.port) { client in
                let body = String(repeating: "a", count: 1 << 20)
                try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                return try client.receiveAll()
            }
            #expect(statuses(in: answer) == [413])
        }
    }

    @Test func anAddressThatIsTakenIsNamed() async throws {
        try await withServer { server in
            let address = "127.0.0.1:\(server.port)"
            let loop = try EventLoop(name: "second")
            defer { loop.stop() }
            let second = HTTPServer(
                settings: HTTPServerSettings(address: address), loops: [loop], handler: TestHandler(),
                metrics: Metrics(), log: .discarding)
            let error = await #expect(throws: SystemError.self) { try await second.start() }
            let sentence = String(describing: error)
            #expect(sentence.contains("listen on \(address)"))
        }
    }
}
