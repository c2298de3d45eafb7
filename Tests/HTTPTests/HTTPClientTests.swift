import HTTP
import Runtime
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(6))) struct HTTPClientTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Said: yes\r\n\r\nok"

    /// Runs `body` with a client on a loop of its own.
    private func withClient(
        _ settings: HTTPClientSettings = HTTPClientSettings(), _ body: (HTTPClient) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "client")
        let client = HTTPClient(settings: settings, loop: loop)
        do {
            try await body(client)
        } catch {
            await client.close()
            loop.stop()
            throw error
        }
        await client.close()
        loop.stop()
    }

    private func failure(of client: HTTPClient, _ request: HTTPClientRequest) async -> HTTPClientError.Code? {
        await error(of: client, request)?.code
    }

    private func error(of client: HTTPClient, _ request: HTTPClientRequest) async -> HTTPClientError? {
        do throws(HTTPClientError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test func aGetCarriesItsHeadersAndReturnsStatusHeadersAndBody() async throws {
        let server = try ScriptedServer { _ in .answer(Self.ok) }
        try await withClient { client in
            let response = try await client.send(
                HTTPClientRequest(
                    .get, server.url + "/a?b=c", headers: ["Authorization": "Bearer x", "X-Empty": ""]))
            #expect(response.status == 200)
            #expect(response.headers["x-said"] == "yes")
            #expect(response.body == Array("ok".utf8))
            #expect(!response.isHTTP2)
            let request = try #require(server.exchanges.first).request
            #expect(request.hasPrefix("GET /a?b=c HTTP/1.1\r\n"))
            #expect(request.contains("\r\nAuthorization: Bearer x\r\n"))
            #expect(request.contains("\r\nX-Empty:\r\n"))
        }
    }

    @Test(arguments: [HTTPClientRequest.Method.post, .put])
    func aBodyIsSentWholeWithoutWaitingForContinue(_ method: HTTPClientRequest.Method) async throws {
        let server = try ScriptedServer { _ in .answer(Self.ok) }
        let body = String(repeating: "0123456789abcdef", count: 4096)
        try await withClient { client in
            _ = try await client.send(
                HTTPClientRequest(
                    method, server.url, headers: ["Content-Type": "application/json"], body: Array(body.utf8)))
            let request = try #require(server.exchanges.first).request
            #expect(request.hasPrefix("\(method.rawValue) / HTTP/1.1\r\n"))
            #expect(request.hasSuffix("\r\n\r\n" + body))
            #expect(request.contains("\r\nContent-Type: application/json\r\n"))
            #expect(!request.contains("Expect:"))
        }
    }

    @Test func anEmptyPostHasLengthZeroAndNoInventedContentType() async throws {
        let server = try ScriptedServer { _ in .answer(Self.ok) }
        try await withClient { client in
            _ = try await client.send(HTTPClientRequest(.post, server.url))
            let request = try #require(server.exchanges.first).request.lowercased()
            #expect(request.contains("\r\ncontent-length: 0\r\n"))
            #expect(!request.contains("content-type"))
        }
    }

    @Test func connectionsAreReused() async throws {
        let server = try ScriptedServer { _ in .answer(Self.ok) }
        try await withClient { client in
            for _ in 0..<5 { _ = try await client.send(HTTPClientRequest(.post, server.url, body: [1])) }
            #expect(server.exchanges.map(\.connection) == [1, 1, 1, 1, 1])
        }
    }

    @Test func aConnectionThatThePeerClosedMeanwhileIsReplaced() async throws {
        let server = try ScriptedServer { $0.connection == 1 ? .answerAndClose(Self.ok) : .answer(Self.ok) }
        try await withClient { client in
            for _ in 0..<2 { _ = try await client.send(HTTPClientRequest(.get, server.url)) }
            #expect(server.exchanges.map(\.connection) == [1, 2])
        }
    }

    @Test func manyRequestsRunAtOnceOverNoMoreConnectionsThanAllowed() async throws {
        let server = try ScriptedServer { .answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\($0.connection)") }
        try await withClient(HTTPClientSettings(maximumConnections: 4)) { client in
            let url = server.url
            let statuses = try await withThrowingTaskGroup { group in
                for _ in 0..<200 { group.addTask { try await client.send(HTTPClientRequest(.get, url)).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses == [Int](repeating: 200, count: 200))
            #expect(Set(server.exchanges.map(\.connection)).count <= 4)
        }
    }

    @Test func anErrorStatusIsAnAnswerAndARedirectIsNotFollowed() async throws {
        let server = try ScriptedServer { exchange in
            exchange.request.hasPrefix("GET /moved")
                ? .answer("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
                : .answer("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        }
        try await withClient { client in
            let failed = try await client.send(HTTPClientRequest(.get, server.url))
            #expect(failed.status == 503)
            let moved = try await client.send(HTTPClientRequest(.get, server.url + "/moved"))
            #expect(moved.status == 302)
            #expect(moved.headers["Location"] == "/elsewhere")
            #expect(server.exchanges.count == 2)
        }
    }

    @Test func nobodyListeningIsUnreachable() async throws {
        try await withClient { client in
            #expect(await failure(of: client, HTTPClientRequest(.get, "http://127.0.0.1:1")) == .unreachable)
        }
    }

    @Test func aSilentPeerTimesOut() async throws {
        let server = try ScriptedServer { _ in .silence }
        try await withClient { client in
            let request = HTTPClientRequest(.get, server.url, timeout: .milliseconds(50))
            #expect(await failure(of: client, request) == .timedOut)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func anAnswerCutShortIsALostConnection(_ answer: String) async throws {
        let server = try ScriptedServer { _ in .answerAndClose(answer) }
        try await withClient { client in
            #expect(await failure(of: client, HTTPClientRequest(.get, server.url)) == .connectionLost)
        }
    }

    @Test func whatIsNotHTTPIsMalformed() async throws {
        let server = try ScriptedServer { _ in .answerAndClose("SSH-2.0-OpenSSH\r\n\r\n") }
        try await withClient { client in
            #expect(await failure(of: client, HTTPClientRequest(.get, server.url)) == .malformedResponse)
        }
    }

    enum Excess: CaseIterable {
        case announcedBody, unannouncedBody, headers

        var answer: String {
            let body = String(repeating: "x", count: 101)
            return switch self {
            case .announcedBody: "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + body
            case .unannouncedBody: "HTTP/1.1 200 OK\r\n\r\n" + body
            case .headers: "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Filler: \(body)\r\n", count: 700) + "\r\n"
            }
        }
    }

    @Test(arguments: Excess.allCases)
    func anAnswerBeyondTheLimitIsTooLarge(_ excess: Excess) async throws {
        let server = try ScriptedServer { _ in .answerAndClose(excess.answer) }
        try await withClient(HTTPClientSettings(maximumResponseBytes: 100)) { client in
            let error = await error(of: client, HTTPClientRequest(.get, server.url))
            #expect(error?.code == .tooLarge)
            #expect(
                error?.detail
                    == (excess == .headers
                        ? "the header of the answer exceeds 65536 bytes" : "the answer exceeds 100 bytes"))
        }
    }

    @Test func anAnswerOfExactlyTheLimitIsTaken() async throws {
        let server = try ScriptedServer { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + String(repeating: "x", count: 100))
        }
        try await withClient(HTTPClientSettings(maximumResponseBytes: 100)) { client in
            let response = try await client.send(HTTPClientRequest(.get, server.url))
            #expect(response.body.count == 100)
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/hostname", "127.0.0.1:80", "http://a b/", "http://a/\r\nX: y"])
    func whatIsNotAnHTTPAddressIsRefused(_ url: String) async throws {
        try await withClient { client in
            #expect(await failure(of: client, HTTPClientRequest(.get, url)) == .invalidRequest)
        }
    }

    @Test(arguments: [("X-A", "b\u{1}"), ("X A", "b"), ("", "b"), ("X:A", "b")])
    func aMalformedHeaderIsRefused(_ name: String, _ value: String) async throws {
        let server = try ScriptedServer { _ in .answer(Self.ok) }
        try await withClient { client in
            let request = HTTPClientRequest(.get, server.url, headers: [name: value])
            #expect(await failure(of: client, request) == .invalidRequest)
            #expect(server.exchanges.isEmpty)
        }
    }

    @Test func plainHTTPWhereTLSWasMeantIsATLSError() async throws {
        let server = try ScriptedServer(greeting: "HTTP/1.1 400 Bad\r\n\r\n") { _ in .silence }
        try await withClient { client in
            #expect(await failure(of: client, HTTPClientRequest(.get, "https://127.0.0.1:\(server.port)")) == .tls)
        }
    }

    @Test func cancellingTheTaskEndsTheRequest() async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        let server = try ScriptedServer { _ in
            asking.yield()
            return .silence
        }
        try await withClient { client in
            let url = server.url
            let task = Task { await failure(of: client, HTTPClientRequest(.get, url)) }
            for await _ in asked { break }
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }

    @Test func closingEndsWhatIsUnderWay() async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        let server = try ScriptedServer { _ in
            asking.yield()
            return .silence
        }
        try await withClient { client in
            let url = server.url
            let task = Task { await failure(of: client, HTTPClientRequest(.get, url)) }
            for await _ in asked { break }
            await client.close()
            #expect(await task.value == .cancelled)
        }
    }

    @Test func beyondTheBoundRequestsAreRefusedAtOnce() async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        let server = try ScriptedServer { _ in
            asking.yield()
            return .silence
        }
        try await withClient(HTTPClientSettings(maximumRequests: 1)) { client in
            let url = server.url
            let task = Task { await failure(of: client, HTTPClientRequest(.get, url)) }
            for await _ in asked { break }
            #expect(await failure(of: client, HTTPClientRequest(.get, url)) == .overloaded)
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }
}
