internal import CLinux
internal import Glibc
internal import Runtime

/// A numeric IPv4 or IPv6 address and a port, as `127.0.0.1:8080` or `[::1]:8080`.
struct ListenAddress: Sendable, Equatable {
    let host: String
    let port: UInt16
    let isIPv6: Bool

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
        if isIPv6 { host = String(host.dropFirst().dropLast()) }
        var scratch = in6_addr()
        guard unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &scratch) == 1 else { return nil }
        self.host = host
        self.port = port
    }

    /// Opens a non-blocking listener and says which port it got.
    func listen(backlog: Int32 = 1024) throws(SystemError) -> (descriptor: Int32, port: Int) {
        let descriptor = socket(
            isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0
        )
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        do throws(SystemError) {
            try Self.enable(descriptor, SOL_SOCKET, SO_REUSEADDR)
            return (descriptor, try bindAndListen(descriptor, backlog))
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func bindAndListen(_ descriptor: Int32, _ backlog: Int32) throws(SystemError) -> Int {
        var storage = sockaddr_storage()
        let length: Int
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            _ = unsafe inet_pton(AF_INET6, host, &address.sin6_addr)
            unsafe withUnsafeMutableBytes(of: &storage) { target in
                unsafe withUnsafeBytes(of: address) { unsafe target.copyMemory(from: $0) }
            }
            length = MemoryLayout<sockaddr_in6>.size
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            _ = unsafe inet_pton(AF_INET, host, &address.sin_addr)
            unsafe withUnsafeMutableBytes(of: &storage) { target in
                unsafe withUnsafeBytes(of: address) { unsafe target.copyMemory(from: $0) }
            }
            length = MemoryLayout<sockaddr_in>.size
        }
        let bound = unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(length))
            }
        }
        guard bound == 0, Glibc.listen(descriptor, backlog) == 0 else {
            let code = errno
            throw SystemError(call: "listen on \(isIPv6 ? "[\(host)]" : host):\(port)", code: code)
        }
        return try Self.port(of: descriptor)
    }

    private static func port(of descriptor: Int32) throws(SystemError) -> Int {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw SystemError(call: "getsockname") }
        // The port lies at the same place in both families.
        return Int(UInt16(bigEndian: address.sin6_port))
    }

    static func enable(_ descriptor: Int32, _ level: Int32, _ option: Int32) throws(SystemError) {
        var one: Int32 = 1
        guard unsafe setsockopt(descriptor, level, option, &one, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw SystemError(call: "setsockopt")
        }
    }
}
