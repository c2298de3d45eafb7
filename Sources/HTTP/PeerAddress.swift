internal import CLinux
internal import Glibc

/// Where a connection comes from.
struct PeerAddress: Sendable {
    /// Whose connections are counted together: an IPv4 address, or an IPv6 /64, which is what one customer of a provider
    /// gets.
    struct Group: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    let text: String
    let group: Group

    init(_ storage: sockaddr_storage) {
        let bytes = unsafe withUnsafeBytes(of: storage) { unsafe Array($0) }
        // Port and family come first; an IPv4 address lies at 4, an IPv6 address at 8.
        var address = bytes[4..<8]
        if storage.ss_family == sa_family_t(AF_INET6) {
            address = bytes[8..<24]
            let isMapped = address.prefix(10).allSatisfy { $0 == 0 } && bytes[18] == 255 && bytes[19] == 255
            if isMapped { address = bytes[20..<24] }
        }
        let network = address.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        if address.count == 4 {
            text = address.map { "\($0)" }.joined(separator: ".")
            group = Group(high: 0, low: network)
        } else {
            text = Self.text(AF_INET6, Array(address))
            group = Group(high: network, low: .max)
        }
    }

    private static func text(_ family: Int32, _ address: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
