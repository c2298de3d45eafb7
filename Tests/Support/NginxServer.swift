import CLinux
import Glibc
import Runtime

/// A real nginx of a test's own, with all its files in the test's folder, gone when the test process ends.
package final class NginxServer: Sendable {
    private static let program = "/usr/sbin/nginx"
    package static var isInstalled: Bool { access(program, X_OK) == 0 }

    private let process: ChildProcess

    /// Serves what `http` says, the inside of nginx' block of that name.
    private init(_ http: String, in folder: TemporaryFolder, attempt: Int = 0) throws {
        let configuration = try folder.write(
            Self.configuration(http, in: folder), to: "nginx-\(attempt).conf")
        process = try ChildProcess(
            Self.program, ["-p", folder.path, "-e", folder.file("error.log"), "-c", configuration],
            log: folder.file("output-\(attempt)"))
    }

    package func stop() async { await process.kill() }

    /// On the Unix socket `front` in the folder.
    ///
    /// `/` answers 200 by itself; `/body…` is handed to an upstream, since only then does nginx read a chunked body to its
    /// end and judge it before it answers.
    package static func onUnixSocket(in folder: TemporaryFolder) async throws -> (server: NginxServer, socket: String) {
        let socket = folder.file("front")
        let server = try NginxServer(
            """
            client_max_body_size 256k;
            # The end of a client's stream may come before nginx begins to wait for it.
            lingering_timeout 50ms;
            server {
                listen unix:\(socket);
                location / { return 200; }
                location /body {
                    proxy_pass http://unix:\(folder.file("back")):;
                    proxy_ignore_client_abort on;
                }
            }
            server {
                listen unix:\(folder.file("back"));
                location / { return 200; }
            }
            """, in: folder)
        guard try await eventually({ accepts(socket) }) else {
            throw CommandError("nginx does not start: \(server.process.log)")
        }
        return (server, socket)
    }

    /// Speaks HTTP/2 over TLS with the folder's `chain.pem` and `key.pem`, on a port that was free a moment ago, and on
    /// another if somebody was quicker. `locations` say what it answers.
    package static func overHTTP2(
        _ locations: String, in folder: TemporaryFolder
    ) async throws -> (server: NginxServer, port: Int) {
        for attempt in 0..<5 {
            let port = try ScriptedServer { _ in .silence }.port
            let server = try NginxServer(
                """
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(folder.file("chain.pem"));
                    ssl_certificate_key \(folder.file("key.pem"));
                    \(locations)
                }
                """, in: folder, attempt: attempt)
            let probe = ["s_client", "-connect", "127.0.0.1:\(port)", "-brief"]
            let isUp = try await eventually(within: .seconds(5)) {
                try await Command.run("/usr/bin/openssl", probe).status == 0
            }
            if isUp { return (server, port) }
            await server.stop()
        }
        throw CommandError("nginx does not start")
    }

    private static func configuration(_ http: String, in folder: TemporaryFolder) -> String {
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
                \(http)
            }
            """
    }

    /// Whether somebody accepts connections on a Unix socket.
    private static func accepts(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
