import TestSupport
import Testing

/// The same bytes to nginx and to us.
@Suite(.enabled(if: NginxServer.isInstalled, "needs Debian's nginx-light"))
struct ConformanceTests {
    /// The answers on a connection that carries `bytes` and then a request nobody can complain about.
    private static func statuses(of bytes: [UInt8], from endpoint: RawClient.Endpoint) async throws -> [Int] {
        let following = Array("GET /following HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)
        let answers = try await RawClient.talk(to: endpoint) { client in
            try client.send(bytes + following)
            client.endSending()
            return try client.receiveAll()
        }
        return HTTPTests.statuses(in: answers)
    }

    @Test func everyRequestIsJudgedAsNginxJudgesIt() async throws {
        let folder = try TemporaryFolder("nginx")
        let (nginx, socket) = try await NginxServer.onUnixSocket(in: folder)
        try await withServer { server in
            for item in ConformanceCase.agreed {
                let theirs = try await Self.statuses(of: item.bytes, from: .path(socket))
                let ours = try await Self.statuses(of: item.bytes, from: .port(server.port))
                #expect(ours == theirs, "\(item.name): we say \(ours), nginx says \(theirs)")
            }
            for deviation in ConformanceDeviation.all {
                let theirs = try await Self.statuses(of: deviation.item.bytes, from: .path(socket))
                let ours = try await Self.statuses(of: deviation.item.bytes, from: .port(server.port))
                #expect(ours == deviation.ours, "\(deviation)")
                #expect(theirs == deviation.nginx, "\(deviation)")
            }
        }
        await nginx.stop()
    }
}
