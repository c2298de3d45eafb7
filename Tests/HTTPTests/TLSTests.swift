import Glibc
import HTTP
import Runtime
import TestSupport
import Testing
import Time

@Suite struct TLSTests {
    /// Sends `request` by OpenSSL's own client and returns all it says, the handshake included.
    private static func talk(to port: Int, _ request: String, _ options: String = "") async throws -> String {
        try await Command.run(
            "/bin/sh",
            [
                "-c",
                "printf '\(request)' | timeout 20 openssl s_client -connect 127.0.0.1:\(port) -ign_eof \(options) 2>&1",
            ]
        ).output
    }

    private static let get = "GET /a HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"

    private static func withTLS(
        _ change: (inout HTTPServerSettings) -> Void = { _ in },
        _ body: (RunningServer, TemporaryFolder) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder("tls")
        try await folder.makeCertificate(of: "first")
        try await withServer {
            $0.certificate = .init(chainFile: folder.file("chain.pem"), keyFile: folder.file("key.pem"))
            change(&$0)
        } _: {
            try await body($0, folder)
        }
    }

    @Test func bothVersionsAreSpokenAndOlderOnesAreNot() async throws {
        try await Self.withTLS { server, _ in
            for version in ["TLSv1.2", "TLSv1.3"] {
                let option = "-" + version.lowercased().replacing("v", with: "").replacing(".", with: "_")
                let answer = try await Self.talk(to: server.port, Self.get, option + " -alpn h2,http/1.1")
                #expect(answer.contains(version))
                #expect(answer.contains("ALPN protocol: http/1.1"))
                #expect(answer.contains("HTTP/1.1 200 OK"))
                #expect(answer.contains("/a 0"))
            }
            let old = try await Self.talk(to: server.port, Self.get, "-tls1_1 -cipher DEFAULT@SECLEVEL=0")
            #expect(!old.contains("HTTP/1.1 200"))
            let foreign = try await Self.talk(to: server.port, Self.get, "-alpn h2")
            #expect(!foreign.contains("HTTP/1.1 200"))
            #expect(foreign.contains("no application protocol"))
            #expect(server.value("holdfast_http_refused_total", ["listener": "http", "reason": "tls"]) == 2)
        }
    }

    @Test func aLargeAnswerAndPipelinedRequestsPassWhole() async throws {
        try await Self.withTLS { server, _ in
            let request =
                "GET /later HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET /large HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" + Self.get
            let answer = try await Self.talk(to: server.port, request, "-quiet")
            check(answer.utf8.count(where: { $0 == UInt8(ascii: "a") }) > 8 << 20)
            #expect(answer.split(separator: "HTTP/1.1 200 OK").count == 4)
        }
    }

    @Test func aReloadShowsTheNewCertificateAndABadOneIsNotTaken() async throws {
        try await Self.withTLS { server, folder in
            #expect(try await Self.talk(to: server.port, Self.get).contains("CN = first"))
            try await folder.makeCertificate(of: "second")
            await server.server.reload()
            #expect(try await Self.talk(to: server.port, Self.get).contains("CN = second"))
            // A key that belongs to another chain, then no key at all.
            let other = try TemporaryFolder("tls")
            try await other.makeCertificate(of: "third")
            #expect(rename(other.file("key.pem"), folder.file("key.pem")) == 0)
            await server.server.reload()
            #expect(try await Self.talk(to: server.port, Self.get).contains("CN = second"))
            #expect(unlink(folder.file("key.pem")) == 0)
            await server.server.reload()
            #expect(try await Self.talk(to: server.port, Self.get).contains("CN = second"))
        }
    }

    @Test func theEndOfTheCertificateThatIsShownIsAMetricAndNotTheEndOfTheOneInTheFile() async throws {
        try await Self.withTLS { server, folder in
            let file = HTTPServerSettings.Certificate(
                chainFile: folder.file("chain.pem"), keyFile: folder.file("key.pem"))
            func shown() -> Double {
                server.metrics.gauge(
                    "holdfast_tls_certificate_end_timestamp_seconds", "", labels: ["listener": "http"]
                ).value
            }
            let first = try TLSCertificateReport(file).notAfter
            #expect(shown() == Double(first.milliseconds) / 1000)
            try await folder.makeCertificate(of: "second", days: 9)
            let second = try TLSCertificateReport(file).notAfter
            #expect(second != first)
            #expect(shown() == Double(first.milliseconds) / 1000)
            await server.server.reload()
            #expect(shown() == Double(second.milliseconds) / 1000)
        }
    }

    @Test func aBadCertificateFailsTheStart() async throws {
        let loop = try EventLoop(name: "http")
        defer { loop.stop() }
        var settings = HTTPServerSettings()
        settings.certificate = .init(chainFile: "/nowhere/chain.pem", keyFile: "/nowhere/key.pem")
        let server = HTTPServer(
            settings: settings, loops: [loop], handler: TestHandler(), metrics: Metrics(), log: .discarding)
        await #expect(throws: (any Error).self) { try await server.start() }
    }

    @Test func aSlowOrMeaninglessHandshakeIsCut() async throws {
        try await Self.withTLS({ $0.headerDeadline = .milliseconds(200) }) { server, _ in
            check(try await RawClient.talk(to: server.port) { try $0.receiveAll() } == "")
            let plain = try await RawClient.talk(to: server.port) { client in
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                return try client.receiveAll()
            }
            #expect(!plain.contains("HTTP/1.1"))
            let isEmpty = try await eventually { server.openConnections == 0 }
            #expect(isEmpty)
        }
    }
}
