internal import CCurl
internal import Runtime

/// libcurl's multi handle on an event loop: it says which sockets to watch and when to wake it, the loop does so.
/// Lives on the loop's thread only.
@safe final class HTTPClientDriver {
    private let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    /// By the address of the easy handle.
    private var transfers: [UInt: HTTPClientTransfer] = [:]
    private var addresses: [UInt64: UInt] = [:]
    private var watched: Set<Int32> = []
    private var timer: EventLoop.TimerID?
    private var isClosed = false

    init(settings: HTTPClientSettings, loop: EventLoop) throws(HTTPClientError) {
        guard HTTPClientLibrary.isReady, let multi = unsafe curl_multi_init() else {
            throw HTTPClientError(.failed, "libcurl does not start")
        }
        self.loop = loop
        unsafe self.multi = multi
        for (option, value) in [
            (CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.maximumConnections),
            (CURLMOPT_MAX_HOST_CONNECTIONS, settings.maximumConnectionsPerHost),
            (CURLMOPT_MAXCONNECTS, settings.maximumConnections),
        ] {
            _ = unsafe holdfast_curl_multi_set_long(multi, option, value)
        }
        _ = unsafe holdfast_curl_multi_set_callbacks(
            multi,
            { _, socket, what, context, _ in
                unsafe HTTPClientDriver.of(context)?.watch(socket, what)
                return 0
            },
            { _, milliseconds, context in
                unsafe HTTPClientDriver.of(context)?.wake(after: milliseconds)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    var count: Int { transfers.count }

    func start(_ transfer: HTTPClientTransfer) {
        guard !isClosed else { return transfer.fail(HTTPClientError(.cancelled, "the client is closed")) }
        let code = unsafe curl_multi_add_handle(multi, transfer.easy)
        guard code == CURLM_OK else {
            return transfer.fail(HTTPClientError(.failed, unsafe String(cString: curl_multi_strerror(code))))
        }
        transfers[transfer.address] = transfer
        addresses[transfer.number] = transfer.address
    }

    /// Ends a transfer that may be over already.
    func cancel(_ number: UInt64) {
        guard let address = addresses[number], let transfer = take(address) else { return }
        transfer.fail(HTTPClientError(.cancelled, "the caller no longer waits"))
    }

    /// Ends every transfer, closes every connection and frees libcurl's handle. Whoever opens a driver closes it.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        for number in Array(addresses.keys) { cancel(number) }
        for socket in watched { loop.unwatch(socket) }
        watched.removeAll()
        if let timer { loop.cancel(timer) }
        timer = nil
        // Closing connections would call back into what is going away.
        _ = unsafe holdfast_curl_multi_set_callbacks(multi, nil, nil, nil)
        _ = unsafe curl_multi_cleanup(multi)
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTPClientDriver? {
        unsafe context.map { unsafe Unmanaged<HTTPClientDriver>.fromOpaque($0).takeUnretainedValue() }
    }

    private func take(_ address: UInt) -> HTTPClientTransfer? {
        guard let transfer = transfers.removeValue(forKey: address) else { return nil }
        addresses[transfer.number] = nil
        _ = unsafe curl_multi_remove_handle(multi, transfer.easy)
        return transfer
    }

    // MARK: libcurl's wishes

    private func watch(_ socket: Int32, _ what: Int32) {
        guard !isClosed || what == CURL_POLL_REMOVE else { return }
        var interest: EventLoop.Interest = []
        if what == CURL_POLL_IN || what == CURL_POLL_INOUT { interest.insert(.read) }
        if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { interest.insert(.write) }
        if what == CURL_POLL_REMOVE {
            if watched.remove(socket) != nil { loop.unwatch(socket) }
            return
        }
        do throws(SystemError) {
            if watched.contains(socket) {
                try loop.rewatch(socket, for: interest)
            } else {
                try loop.watch(socket, for: interest) { [self] in ready(socket, $0) }
                watched.insert(socket)
            }
        } catch {
            // libcurl's own timeouts end a transfer whose socket nobody can watch; it is told of the trouble at once.
            loop.schedule(after: .zero) { [self] in act(on: socket, CURL_CSELECT_ERR) }
        }
    }

    private func wake(after milliseconds: Int) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard milliseconds >= 0, !isClosed else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [self] in
            timer = nil
            act(on: CURL_SOCKET_BAD, 0)
        }
    }

    private func ready(_ socket: Int32, _ readiness: EventLoop.Readiness) {
        var bits: Int32 = 0
        if readiness.contains(.read) || readiness.contains(.hangup) { bits |= CURL_CSELECT_IN }
        if readiness.contains(.write) { bits |= CURL_CSELECT_OUT }
        if readiness.contains(.hangup), !readiness.contains(.read) { bits |= CURL_CSELECT_ERR }
        act(on: socket, bits)
    }

    private func act(on socket: Int32, _ bits: Int32) {
        guard !isClosed else { return }
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(multi, socket, bits, &running)
        var easy: UnsafeMutableRawPointer?
        var result = CURLE_OK
        while unsafe holdfast_curl_multi_next_done(multi, &easy, &result) {
            guard let transfer = take(UInt(bitPattern: easy)) else { continue }
            transfer.finish(result)
        }
    }
}
