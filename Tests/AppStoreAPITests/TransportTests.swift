import AppStore
import Glibc
import HTTP
import Runtime
import TestSupport
import Testing

/// Over TLS and HTTP/2, against nginx with a certificate of its own.
@Suite(.timeLimit(.minutes(1))) struct TransportTests {
    private static let program = "/usr/sbin/nginx"
    private static var isInstalled: Bool { access(program, X_OK) == 0 }

    @Test(.enabled(if: isInstalled, "nginx is not installed"))
    func manyCallsShareOneConnectionOverHTTP2() async throws {
        let folder = try TemporaryFolder("api-h2")
        let (process, port) = try await Self.startNginx(in: folder)
        try await Stage.with {
            $0.productionURL = "https://127.0.0.1:\(port)"
            $0.http.certificateAuthorityFile = folder.file("chain.pem")
        } answering: { _ in
            .silence
        } _: { stage in
            let client = stage.client
            let answers = try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask { try await client.transaction("\(number)", .sweep).signedTransactionInfo }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(answers.count == 50)
            // nginx answers with the connection's serial number and the protocol.
            let distinct = Set(answers)
            #expect(distinct.count == 1)
            check(distinct.first?.hasSuffix(" HTTP/2.0") == true, "\(distinct)")
            // By HTTP/2 too, errors are errors: nginx's own are HTML.
            let failure = await stage.failure { () async throws(ServerAPIFailure) in
                try await client.order("1", .support)
            }
            #expect(failure?.kind == .refused)
            #expect(failure?.status == 404)
            #expect(failure?.code == nil)
        }
        // Nobody else's certificate is good enough.
        try await Stage.with {
            $0.productionURL = "https://127.0.0.1:\(port)"
        } answering: { _ in
            .silence
        } _: { stage in
            let client = stage.client
            let failure = await stage.failure { () async throws(ServerAPIFailure) in
                try await client.transaction("1", .support)
            }
            #expect(failure?.kind == .tls)
        }
        await process.kill()
    }

    @Test func oneConnectionServesOneCallAfterTheOther() async throws {
        try await Stage.with(answering: { _ in answer(200, #"{"signedTransactionInfo":"a.b.c"}"#) }) { stage in
            for _ in 0..<5 { _ = try await stage.client.transaction("1", .sweep) }
            #expect(Set(stage.server.exchanges.map(\.connection)) == [1])
        }
    }

    @Test func aProxyIsUsedOnlyWhenTheSettingsSaySo() async throws {
        let proxy = try ScriptedServer { _ in answer(200, #"{"signedTransactionInfo":"by.the.proxy"}"#) }
        try await Stage.with {
            $0.http.proxy = proxy.url
        } answering: { _ in
            answer(200, #"{"signedTransactionInfo":"straight.to.it"}"#)
        } _: { stage in
            let read = try await stage.client.transaction("1", .sweep)
            #expect(read.signedTransactionInfo == "by.the.proxy")
            check(proxy.exchanges.first?.request.hasPrefix("GET http://127.0.0.1:") == true)
            #expect(stage.requests.isEmpty)
        }
    }

    /// Starts nginx on a port that was free a moment ago, and on another if somebody was quicker.
    private static func startNginx(in folder: TemporaryFolder) async throws -> (ChildProcess, Int) {
        let made = try await Command.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file("key.pem"),
                "-out", folder.file("chain.pem"),
            ])
        guard made.status == 0 else { throw CommandError(made.output) }
        for attempt in 0..<5 {
            let port = try ScriptedServer { _ in .silence }.port
            let path = try folder.write(configuration(port, in: folder), to: "nginx-\(attempt).conf")
            let process = try ChildProcess(
                program, ["-p", folder.path, "-e", folder.file("error.log"), "-c", path],
                log: folder.file("output-\(attempt)"))
            let probe = ["s_client", "-connect", "127.0.0.1:\(port)", "-brief"]
            let isUp = try await eventually(within: .seconds(5)) {
                try await Command.run("/usr/bin/openssl", probe).status == 0
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
                    location /inApps/v1/transactions {
                        default_type application/json;
                        return 200 '{"signedTransactionInfo":"$connection $server_protocol"}';
                    }
                    location / { return 404; }
                }
            }
            """
    }
}
