internal import CCurl

/// One request on its way: owns libcurl's easy handle and gathers the answer. Lives on its client's loop only.
@safe final class HTTPClientTransfer {
    typealias Completion = (Result<HTTPClientResponse, HTTPClientError>) -> Void

    let number: UInt64
    /// libcurl's easy handle, alive as long as this is.
    let easy: UnsafeMutableRawPointer
    var address: UInt { unsafe UInt(bitPattern: easy) }
    private let completion: Completion
    private let maximumBytes: Int
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>
    private var headers = HTTPHeaders()
    private var headerBytes = 0
    private var body: [UInt8] = []
    /// What of the answer was more than is taken.
    private var excess: String?

    private static let maximumHeaderBytes = 64 << 10

    init(
        number: UInt64, request: HTTPClientRequest, settings: HTTPClientSettings, completion: @escaping Completion
    ) throws(HTTPClientError) {
        if let problem = request.problem { throw HTTPClientError(.invalidRequest, problem) }
        guard let easy = unsafe curl_easy_init() else { throw HTTPClientError(.failed, "curl_easy_init") }
        self.number = number
        unsafe self.easy = easy
        self.completion = completion
        maximumBytes = settings.maximumResponseBytes
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe headerList = nil
        try configure(request, settings)
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(headerList)
        unsafe errorText.deallocate()
    }

    /// Tells the caller how it ended; called once.
    func finish(_ result: CURLcode) {
        if let excess = excess ?? (result == CURLE_FILESIZE_EXCEEDED ? excessOfBody : nil) {
            return completion(.failure(HTTPClientError(.tooLarge, excess)))
        }
        guard result == CURLE_OK else {
            let text = unsafe errorText[0] == 0 ? curl_easy_strerror(result) : UnsafePointer(errorText)
            let detail = unsafe text.map { unsafe String(cString: $0) } ?? ""
            return completion(.failure(HTTPClientError(Self.code(for: result), detail)))
        }
        let status = unsafe holdfast_curl_get_long(easy, CURLINFO_RESPONSE_CODE)
        let version = unsafe holdfast_curl_get_long(easy, CURLINFO_HTTP_VERSION)
        completion(
            .success(
                HTTPClientResponse(
                    status: status, headers: headers, body: body,
                    isHTTP2: version == Int(CURL_HTTP_VERSION_2_0))))
    }

    func fail(_ error: HTTPClientError) { completion(.failure(error)) }

    // MARK: Asking

    private func configure(_ request: HTTPClientRequest, _ settings: HTTPClientSettings) throws(HTTPClientError) {
        unsafe try check(holdfast_curl_set_error_buffer(easy, errorText))
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // An empty proxy, or libcurl would take one from the environment.
        try set(CURLOPT_PROXY, settings.proxy ?? "")
        try set(CURLOPT_USERAGENT, settings.userAgent)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout.wholeMilliseconds)
        try set(CURLOPT_TIMEOUT_MS, (request.timeout ?? settings.totalTimeout).wholeMilliseconds)
        unsafe try check(
            holdfast_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(settings.maximumResponseBytes)))
        // Many requests at once to an HTTP/2 peer share one connection instead of opening one each.
        try set(CURLOPT_PIPEWAIT, request.url.lowercased().hasPrefix("https:") ? 1 : 0)
        if let file = settings.certificateAuthorityFile {
            try set(CURLOPT_CAINFO, file)
            unsafe try check(holdfast_curl_set_string(easy, CURLOPT_CAPATH, nil))
        }
        switch request.method {
        case .get: try set(CURLOPT_HTTPGET, 1)
        case .delete: try set(CURLOPT_CUSTOMREQUEST, "DELETE")
        case .post, .put:
            try set(CURLOPT_POST, 1)
            let code = unsafe request.body.withUnsafeBytes {
                unsafe holdfast_curl_set_body(easy, $0.baseAddress, curl_off_t($0.count))
            }
            try check(code)
            if request.method == .put { try set(CURLOPT_CUSTOMREQUEST, "PUT") }
        }
        try setHeaders(request)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe try check(
            holdfast_curl_set_sink(
                easy,
                { bytes, size, count, context in
                    unsafe HTTPClientTransfer.of(context)?.received(bytes, size &* count, asHeader: false) ?? 0
                },
                { bytes, size, count, context in
                    unsafe HTTPClientTransfer.of(context)?.received(bytes, size &* count, asHeader: true) ?? 0
                }, context))
    }

    private func setHeaders(_ request: HTTPClientRequest) throws(HTTPClientError) {
        // No "100 Continue" round trip, and no content type that nobody asked for.
        var lines = ["Expect:"]
        if request.headers["Content-Type"] == nil {
            lines.append("Content-Type:")
        }
        // libcurl drops a header without a value unless it ends in a semicolon.
        for (name, value) in request.headers { lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)") }
        for line in lines {
            guard let longer = unsafe curl_slist_append(headerList, line) else {
                throw HTTPClientError(.failed, "out of memory")
            }
            unsafe headerList = longer
        }
        unsafe try check(holdfast_curl_set_headers(easy, headerList))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPClientError) {
        unsafe try check(holdfast_curl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPClientError) {
        unsafe try check(holdfast_curl_set_string(easy, option, value))
    }

    private func check(_ code: CURLcode) throws(HTTPClientError) {
        guard code != CURLE_OK else { return }
        throw HTTPClientError(.failed, unsafe String(cString: curl_easy_strerror(code)))
    }

    // MARK: Listening

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTPClientTransfer? {
        unsafe context.map { unsafe Unmanaged<HTTPClientTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Answers how many bytes were taken; fewer than given end the transfer.
    private func received(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, asHeader: Bool) -> Int {
        guard count > 0, let bytes = unsafe bytes else { return 0 }
        let chunk = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
        if asHeader {
            headerBytes += count
            guard headerBytes <= Self.maximumHeaderBytes else {
                return refuse("the header of the answer exceeds \(Self.maximumHeaderBytes) bytes")
            }
            unsafe headerLine(String(decoding: chunk, as: UTF8.self))
        } else {
            guard body.count + count <= maximumBytes else { return refuse(excessOfBody) }
            unsafe body.append(contentsOf: chunk)
        }
        return count
    }

    private var excessOfBody: String { "the answer exceeds \(maximumBytes) bytes" }

    private func refuse(_ excess: String) -> Int {
        self.excess = excess
        return 0
    }

    private func headerLine(_ line: String) {
        // A new status line begins anew: what came before was an interim answer.
        guard !line.hasPrefix("HTTP/") else {
            headers = HTTPHeaders()
            return
        }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { !$0.isWhitespace }
        headers.append(String(line[..<colon]), end.map { String(value[...$0]) } ?? "")
    }

    private static func code(for result: CURLcode) -> HTTPClientError.Code {
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: .unreachable
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS:
            .tls
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .connectionLost
        // libcurl calls an answer without a status line (HTTP/0.9) an unsupported protocol.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING: .malformedResponse
        case CURLE_URL_MALFORMAT: .invalidRequest
        default: .failed
        }
    }
}

extension Duration {
    /// At least 1, for libcurl takes 0 as "no limit".
    fileprivate var wholeMilliseconds: Int {
        let milliseconds = self / .milliseconds(1)
        return milliseconds < 1 ? 1 : milliseconds > 1e9 ? 1_000_000_000 : Int(milliseconds)
    }
}
