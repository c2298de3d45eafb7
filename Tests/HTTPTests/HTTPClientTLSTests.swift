import HTTP
import Runtime
import TestSupport
import Testing

/// The client against our own server over TLS, and against nginx over HTTP/2.
@Suite(.timeLimit(.minutes(6))) struct HTTPClientTLSTests {
    private func withClient(
        trusting file: String?, _ body: (HTTPClient) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "client")
        let client = HTTPClient(settings: HTTPClientSettings(certificateAuthorityFile: file), loop: loop)
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

    private func failure(of client: HTTPClient, _ url: String) async -> HTTPClientError.Code? {
        do throws(HTTPClientError) {
            _ = try await client.send(HTTPClientRequest(.get, url))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func onlyTheGivenRootIsTrustedAndOnlyForItsName() async throws {
        let folder = try TemporaryFolder("client-tls")
        try await folder.makeCertificate(for: "IP:127.0.0.1")
        try await withServer {
            $0.certificate = .init(chainFile: folder.file("chain.pem"), keyFile: folder.file("key.pem"))
        } _: { server in
            try await withClient(trusting: folder.file("chain.pem")) { client in
                for _ in 0..<2 {
                    let response = try await client.send(
                        HTTPClientRequest(.post, "https://127.0.0.1:\(server.port)/a", body: [1, 2, 3]))
                    #expect(response.status == 200)
                    #expect(response.body == Array("/a 3".utf8))
                    #expect(!response.isHTTP2)
                }
                #expect(await failure(of: client, "https://localhost:\(server.port)/a") == .tls)
            }
            try await withClient(trusting: nil) { client in
                #expect(await failure(of: client, "https://127.0.0.1:\(server.port)/a") == .tls)
            }
            try await withClient(trusting: folder.file("missing.pem")) { client in
                #expect(await failure(of: client, "https://127.0.0.1:\(server.port)/a") == .tls)
            }
        }
    }

    @Test(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
    func http2IsSpokenWhereThePeerHasItAndSharesOneConnection() async throws {
        let folder = try TemporaryFolder("client-h2")
        try await folder.makeCertificate(for: "IP:127.0.0.1")
        let (nginx, port) = try await NginxServer.overHTTP2(
            "location / { return 200 $connection; }", in: folder)
        try await withClient(trusting: folder.file("chain.pem")) { client in
            let url = "https://127.0.0.1:\(port)/"
            let responses = try await withThrowingTaskGroup { group in
                // Without bodies: nginx answers before it has read one, and resets the stream when it comes late.
                for _ in 0..<50 { group.addTask { try await client.send(HTTPClientRequest(.get, url)) } }
                return try await group.reduce(into: [HTTPClientResponse]()) { $0.append($1) }
            }
            check(responses.allSatisfy { $0.status == 200 && $0.isHTTP2 })
            // nginx answers with the connection's serial number.
            #expect(Set(responses.map(\.body)).count == 1)
        }
        await nginx.stop()
    }
}
