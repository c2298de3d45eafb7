import CLinux
import Glibc
import Runtime

/// Listens on a port of its own on loopback until it is gone, and hands over each connection.
package final class LoopbackListener: Sendable {
    package let port: Int
    private let descriptor: Int32

    /// - Parameter accepted: Called on the accepting thread; closing the connection is its business.
    package init(_ accepted: @escaping @Sendable (Int32) -> Void) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else {
            let error = SystemError(call: "bind")
            close(descriptor)
            throw error
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.descriptor = descriptor
        try Thread.start(name: "listener") {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                accepted(connection)
            }
            // Here and not in `deinit`, or this thread could accept from another test's listener that got the same number.
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
