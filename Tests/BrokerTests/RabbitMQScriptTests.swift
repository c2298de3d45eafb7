import TestSupport
import Testing

/// What `ops/rabbitmq` promises to whoever starts a server by it.
@Suite(.timeLimit(.minutes(6)))
struct RabbitMQScriptTests {
    @Test func aServerListensOnLoopbackOnlyAndGoesWithItsParentLeavingNothing() async throws {
        let folder = try TemporaryFolder("script")
        let result = try await Command.run(
            "/bin/bash",
            [
                "-euo", "pipefail", "-c",
                #"""
                rabbitmq=$1 dir=$2
                sleep 1000 >/dev/null 2>&1 &
                parent=$!
                "$rabbitmq" start "$dir" --with-parent $parent --remove
                "$rabbitmq" status "$dir"
                read -r server _ <"$dir/server.pid"
                read -r epmd _ <"$dir/epmd.pid"
                read -r watchdog _ <"$dir/watchdog.pid"

                # The addresses that the server and its epmd listen on, as the kernel writes them.
                for pid in $server $epmd; do
                    for link in /proc/$pid/fd/*; do
                        socket=$(readlink "$link" || true)
                        [[ $socket = socket:* ]] || continue
                        awk -v inode="${socket//[^0-9]/}" '$4 == "0A" && $10 == inode { print "LISTEN " $2 }' \
                            /proc/$pid/net/tcp /proc/$pid/net/tcp6
                    done
                done
                echo "COOKIE $(stat -c %a "$dir/home/.erlang.cookie")"

                kill -KILL $parent
                for ((tries = 0; tries < 300; tries++)); do
                    [ -d "$dir" ] || break
                    sleep 0.1
                done
                [ ! -d "$dir" ] && echo REMOVED
                for pid in $server $epmd $watchdog; do
                    # Gone, or dead and not yet collected; the watchdog goes last.
                    for ((tries = 0; tries < 300; tries++)); do
                        grep -qs '^State:.[^Z]' /proc/$pid/status || break
                        sleep 0.1
                    done
                    [ $tries -lt 300 ] || echo "LEFT $pid"
                done
                echo END
                """#, "script", "\(Command.packageFolder)/ops/rabbitmq", folder.file("server"),
            ])
        let lines = result.output.split(separator: "\n").map(String.init)
        let listening = lines.filter { $0.hasPrefix("LISTEN ") }
        #expect(listening.count >= 3, "\(result.output)")
        for line in listening {
            #expect(
                line.contains(" 0100007F:") || line.contains(" 00000000000000000000000001000000:"),
                "not on loopback: \(line)")
        }
        #expect(lines.contains("COOKIE 400"))
        #expect(lines.contains("REMOVED"))
        check(!lines.contains { $0.hasPrefix("LEFT") }, "\(result.output)")
        #expect(lines.last == "END")
    }

    @Test func aKilledServerStartsAgainOnItsPort() async throws {
        try await RabbitMQServer.withOwn { server in
            let before = server.port
            try await server.kill()
            try await server.start()
            let status = try await server.control("status")
            #expect(status.contains("port: \(before), protocol: amqp,"))
        }
    }
}
