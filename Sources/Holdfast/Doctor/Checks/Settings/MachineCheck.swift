import CacheTier
import Gateway
import HTTP
import Runtime

/// Whether this machine's limits allow what the settings ask for.
struct MachineCheck: Check {
    let name = "this machine"
    let isRemote = false
    let settings: HoldfastSettings

    func examine() async -> Finding {
        var findings: [Finding] = []
        let files = OpenFiles.raiseLimit()
        let connections = settings.gateway.http.connections
        if ConnectionRoom(files: files).open < connections {
            findings.append(
                .warning(
                    "\(files) open files allow fewer than the \(connections) connections of gateway.http.connections",
                    "LimitNOFILE=65536 in the service's unit, or ulimit -Hn; or set fewer connections."))
        }
        if let backlog = Machine.number(in: "/proc/sys/net/core/somaxconn"), backlog < 1024 {
            findings.append(
                .warning(
                    "net.core.somaxconn is \(backlog): a burst of connections is turned away before we see it",
                    "sysctl -w net.core.somaxconn=4096, and in /etc/sysctl.d"))
        }
        let available = Machine.memory("MemAvailable")
        if let available, available < settings.cache.memoryBytes {
            findings.append(
                .warning(
                    "\(Size.text(UInt64(clamping: available))) of memory left, less than cache.memoryBytes "
                        + "(\(Size.text(UInt64(clamping: settings.cache.memoryBytes))))",
                    "Set cache.memoryBytes lower, or make room."))
        }
        let memory = available.map { ", \(Size.text(UInt64(clamping: $0))) of memory free" } ?? ""
        return .of(findings, otherwise: "\(files) open files allowed\(memory)")
    }
}
