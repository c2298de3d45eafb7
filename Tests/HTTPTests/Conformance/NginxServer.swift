import Glibc
import Runtime
import TestSupport

/// A real nginx of the tests' own, on a Unix socket in a private folder, gone when the test process ends.
///
/// `/` answers 200 by itself; `/body…` is handed to an upstream, since only then does nginx read a chunked body to its
/// end and judge it before it answers.
final class NginxServer: Sendable {
    static let program = "/usr/sbin/nginx"
    static var isInstalled: Bool { access(program, X_OK) == 0 }

    let socket: String
    private let folder: TemporaryFolder
    private let process: ChildProcess

    init() async throws {
        folder = try TemporaryFolder("nginx")
        socket = folder.file("front")
        let configuration = Self.configuration(in: folder)
        let file = open(folder.file("nginx.conf"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0, write(file, configuration, configuration.utf8.count) == configuration.utf8.count else {
            throw SystemError(call: "open nginx.conf")
        }
        close(file)
        process = try ChildProcess(
            Self.program, ["-p", folder.path, "-e", folder.file("error.log"), "-c", folder.file("nginx.conf")],
            log: folder.file("output"))
        let socket = socket
        let isUp = try await eventually {
            do {
                try await RawClient.talk(to: .path(socket)) { _ in }
                return true
            } catch { return false }
        }
        guard isUp else { throw CommandError("nginx did not start: \(process.log)") }
    }

    func stop() async { await process.kill() }

    private static func configuration(in folder: TemporaryFolder) -> String {
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
                client_max_body_size 256k;
                # The end of a client's stream may come before nginx begins to wait for it.
                lingering_timeout 50ms;
                server {
                    listen unix:\(folder.file("front"));
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
            }
            """
    }
}
