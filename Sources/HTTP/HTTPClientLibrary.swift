internal import CCurl
internal import Glibc

/// libcurl's state for the whole process.
enum HTTPClientLibrary {
    /// Starts libcurl once. Also ignores SIGPIPE: OpenSSL writes to sockets without MSG_NOSIGNAL, and a peer that has
    /// gone away must not end the process.
    static let isReady: Bool = {
        _ = signal(SIGPIPE, SIG_IGN)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()
}
