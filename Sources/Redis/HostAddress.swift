internal import Glibc
internal import Runtime

/// Turns a host's name into a numeric address on a thread of its own: the resolver blocks, and a loop must not.
enum HostAddress {
    static func resolve(_ host: String) async throws(RedisError) -> String {
        if isNumeric(host) { return host }
        let result: Result<String, RedisError> = await withCheckedContinuation { continuation in
            do {
                try Thread.start(name: "resolve") { continuation.resume(returning: lookUp(host)) }
            } catch {
                continuation.resume(returning: .failure(RedisError(.unreachable, "\(error)")))
            }
        }
        return try result.get()
    }

    private static func isNumeric(_ host: String) -> Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return unsafe inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1
    }

    private static func lookUp(_ host: String) -> Result<String, RedisError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, nil, &hints, &list)
        guard status == 0, let first = unsafe list else {
            return .failure(RedisError(.unreachable, "\(host): \(unsafe String(cString: gai_strerror(status)))"))
        }
        defer { unsafe freeaddrinfo(list) }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let named = unsafe getnameinfo(
            first.pointee.ai_addr, first.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard named == 0 else { return .failure(RedisError(.unreachable, "\(host) has no address")) }
        return .success(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
}
