import AppStore
import HTTP
import Runtime
import TestSupport
import Testing

/// Over TLS and HTTP/2, against nginx with a certificate of its own.
@Suite(.timeLimit(.minutes(6))) struct TransportTests {
    @Test(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
    func manyCallsShareOneConnectionOverHTTP2() async throws {
        let folder = try TemporaryFolder("api-h2")
        try await folder.makeCertificate(for: "IP:127.0.0.1")
        let (nginx, port) = try await NginxServer.overHTTP2(
            """
            location /inApps/v1/transactions {
                default_type application/json;
                return 200 '{"signedTransactionInfo":"$connection $server_protocol"}';
            }
            location / { return 404; }
            """, in: folder)
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
        await nginx.stop()
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
}
