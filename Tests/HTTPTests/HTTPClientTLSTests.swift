import Glibc
import HTTP
import Runtime
import TestSupport
import Testing

/// The client against our own server over TLS, and against nginx over HTTP/2.
@Suite(.timeLimit(.minutes(1))) struct HTTPClientTLSTests {
    /// A self-signed certificate that is good for 127.0.0.1 and no name.
    private static func makeCertificate(in folder: TemporaryFolder) async throws {
        let result = try await Command.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file("key.pem"),
                "-out", folder.file("chain.pem"),
            ])
        guard result.status == 0 else { throw CommandError(result.output) }
    }

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
        try await Self.makeCertificate(in: folder)
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
        try await Self.makeCertificate(in: folder)
        let (process, port) = try await Self.startNginx(in: folder)
        try await withClient(trusting: folder.file("chain.pem")) { client in
            let url = "https://127.0.0.1:\(port)/"
            let responses = try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask {
                        try await client.send(HTTPClientRequest(.post, url, body: Array("\(number)".utf8)))
                    }
                }
                return try await group.reduce(into: [HTTPClientResponse]()) { $0.append($1) }
            }
            check(responses.allSatisfy { $0.status == 200 && $0.isHTTP2 })
            // nginx answers with the connection's serial number.
            #expect(Set(responses.map(\.body)).count == 1)
        }
        await process.kill()
    }

    /// Starts nginx on a port that was free a moment ago, and on another if somebody was quicker.
    private static func startNginx(in folder: TemporaryFolder) async throws -> (ChildProcess, Int) {
        for attempt in 0..<5 {
            let port = try ScriptedServer { _ in .silence }.port
            let path = folder.file("nginx-\(attempt).conf")
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            let text = configuration(port, in: folder)
            guard file >= 0, write(file, text, text.utf8.count) == text.utf8.count else {
                throw SystemError(call: "open \(path)")
            }
            close(file)
            let process = try ChildProcess(
                NginxServer.program, ["-p", folder.path, "-e", folder.file("error.log"), "-c", path],
                log: folder.file("output-\(attempt)"))
            let isUp = try await eventually(within: .seconds(5)) {
                do {
                    try await RawClient.talk(to: .port(port)) { _ in }
                    return true
                } catch { return false }
            }
            if isUp { return (process, port) }
            await process.kill()
        }
        throw CommandError("nginx does not start")
    }

    private static func configuration(_ port: Int, in folder: TemporaryFolder) -> String {
        let scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: "\n    ")
        return """
            daemon off;
            master_process off;
            pid \(folder.file("pid"));
            events { worker_connections 512; }
            http {
                access_log off;
                \(scratch)
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(folder.file("chain.pem"));
                    ssl_certificate_key \(folder.file("key.pem"));
                    location / { return 200 $connection; }
                }
            }
            """
    }
}
