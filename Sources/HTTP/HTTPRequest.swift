/// A request line and its header fields, as they are known before the body is read.
package struct HTTPRequestHead: Sendable {
    /// `GET`, `POST`, …: capital letters, `-` and `_` only.
    package var method: String
    /// Starts with `/`; percent sequences are as they came, each well-formed, none of them NUL; no `.` or `..` segment.
    package var path: String
    /// What follows the first `?`, as it came; nil when there is none.
    package var query: String?
    package var headers: HTTPHeaders
    /// The other side's address without its port: `192.0.2.1`, `2001:db8::1`.
    package var peer: String

    package init(
        method: String, path: String, query: String? = nil, headers: HTTPHeaders = HTTPHeaders(),
        peer: String = "127.0.0.1"
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.peer = peer
    }

    /// The path's segments, percent-decoded one by one, so that `%2F` in one does not become a border;
    /// nil for a segment that is no UTF-8. `/a/b%20c` is `["a", "b c"]`, `/` is `[""]`.
    package var segments: [String]? {
        var segments: [String] = []
        for raw in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = PercentEncoding.decode(raw) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    /// The first value of `name` in the query, percent-decoded, `+` for a blank; nil also when it is no UTF-8.
    package func queryValue(_ name: String) -> String? { queryValues(name).first ?? nil }

    /// Every value of `name` in the query, in order, decoded in the same way.
    package func queryValues(_ name: String) -> [String?] {
        guard let query else { return [] }
        return query.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard PercentEncoding.decode(parts[0], plusIsBlank: true) == name else { return nil }
            return .some(parts.count == 2 ? PercentEncoding.decode(parts[1], plusIsBlank: true) : "")
        }
    }
}

/// A whole request, with its body, of whatever framing.
package struct HTTPRequest: Sendable {
    package var head: HTTPRequestHead
    package var body: [UInt8]

    package init(head: HTTPRequestHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }

    package var method: String { head.method }
    package var path: String { head.path }
    package var query: String? { head.query }
    package var headers: HTTPHeaders { head.headers }
    package var peer: String { head.peer }
}

enum PercentEncoding {
    static func decode(_ raw: some Collection<UInt8>, plusIsBlank: Bool = false) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(raw.count)
        var rest = raw.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexadecimalValue, let low = rest.next()?.hexadecimalValue else {
                    return nil
                }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: decoded.append(.blank)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
