/// A request to an absolute `http` or `https` URL. Redirects are not followed: the answer is what the peer said.
package struct HTTPClientRequest: Sendable {
    package enum Method: String, Sendable { case get = "GET", post = "POST", put = "PUT", delete = "DELETE" }

    package var method: Method
    package var url: String
    package var headers: HTTPHeaders
    /// Sent with POST and PUT only.
    package var body: [UInt8]
    /// Replaces the settings' total timeout.
    package var timeout: Duration?

    package init(
        _ method: Method, _ url: String, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [],
        timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// What is wrong with it, if anything; a line break in a header would let data write headers.
    var problem: String? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https", url.dropFirst(scheme.count).hasPrefix("://") else {
            return "not an absolute http or https URL"
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return "a URL of other than printable ASCII" }
        for (name, value) in headers {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else { return "a malformed header name" }
            guard value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
                return "a control character in header \(name)"
            }
        }
        return nil
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

package struct HTTPClientResponse: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Whether it came over HTTP/2.
    package var isHTTP2: Bool

    package init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [], isHTTP2: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isHTTP2 = isHTTP2
    }
}
