internal import CLinux
internal import CRabbitMQ
internal import Glibc
internal import Runtime
internal import Time

/// Owns one AMQP connection with one channel; the end of its life closes the socket.
///
/// Opening blocks and belongs on a thread of its own (`opened`). Afterwards nothing blocks for longer than the write
/// timeout, except what says so.
@safe
final class ConnectionHandle {
    static let channel: amqp_channel_t = 1

    let state: amqp_connection_state_t
    let scratch = ScratchPool()
    let callGuard: CallGuard
    var content = ContentAssembler()
    let fd: Int32

    /// Connects, logs in and opens the channel. Blocks for a few times the connect timeout at most.
    init(_ settings: BrokerSettings, name: String) throws(BrokerError) {
        guard let state = unsafe amqp_new_connection() else { throw BrokerError(.unreachable, "out of memory") }
        do {
            unsafe fd = try Self.connect(state, settings)
            callGuard = try CallGuard(fd: fd, limit: settings.writeTimeout)
            unsafe try Self.logIn(state, settings, name)
        } catch {
            unsafe amqp_destroy_connection(state)
            throw error
        }
        unsafe self.state = unsafe state
    }

    deinit {
        callGuard.forget()
        unsafe amqp_destroy_connection(state)
    }

    private static func connect(_ state: amqp_connection_state_t, _ settings: BrokerSettings) throws(BrokerError)
        -> Int32
    {
        let socket = unsafe settings.tls == nil ? amqp_tcp_socket_new(state) : amqp_ssl_socket_new(state)
        guard let socket = unsafe socket else { throw BrokerError(.unreachable, "out of memory") }
        if let tls = settings.tls { unsafe try secure(socket, tls) }
        var timeout = timeval(settings.connectTimeout)
        let status = unsafe amqp_socket_open_noblock(socket, settings.host, Int32(clamping: settings.port), &timeout)
        guard status == AMQP_STATUS_OK.rawValue else {
            throw failure(status, "connect to \(settings.host):\(settings.port)")
        }
        let fd = unsafe amqp_get_sockfd(state)
        // A peer that is gone without a word, or never takes in what was sent, is given up in time.
        let limit = (settings.heartbeat * 2) / Duration.milliseconds(1)
        guard holdfast_set_user_timeout(fd, UInt32(limit)) == 0 else {
            throw BrokerError(.unreachable, "\(SystemError(call: "setsockopt"))")
        }
        return fd
    }

    private static func secure(_ socket: OpaquePointer, _ tls: BrokerSettings.TLS) throws(BrokerError) {
        unsafe amqp_ssl_socket_set_verify_peer(socket, 1)
        unsafe amqp_ssl_socket_set_verify_hostname(socket, 1)
        var status = unsafe amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST)
        guard status == AMQP_STATUS_OK.rawValue else { throw failure(status, "ask for TLS 1.2") }
        status = unsafe amqp_ssl_socket_set_cacert(socket, tls.certificateAuthorityFile)
        guard status == AMQP_STATUS_OK.rawValue else {
            throw BrokerError(.refused, "read authorities from \(tls.certificateAuthorityFile): \(text(of: status))")
        }
        guard let certificate = tls.certificateFile, let key = tls.keyFile else { return }
        status = unsafe amqp_ssl_socket_set_key(socket, certificate, key)
        guard status == AMQP_STATUS_OK.rawValue else {
            throw BrokerError(.refused, "read \(certificate) and \(key): \(text(of: status))")
        }
    }

    private static func logIn(
        _ state: amqp_connection_state_t, _ settings: BrokerSettings, _ name: String
    ) throws(BrokerError) {
        var timeout = timeval(settings.connectTimeout)
        unsafe amqp_set_handshake_timeout(state, &timeout)
        unsafe amqp_set_rpc_timeout(state, &timeout)
        let heartbeat = Int32(clamping: settings.heartbeat.components.seconds)
        let reply = unsafe holdfast_amqp_login(
            state, settings.virtualHost, 131_072, heartbeat, settings.user, settings.password.value, name)
        unsafe try check(reply, "log in as \(settings.user)")
        unsafe amqp_channel_open(state, channel)
        unsafe try check(amqp_get_rpc_reply(state), "open a channel")
    }

    /// Says goodbye; what was in hand goes back to its queue.
    func close() {
        // Whether or not it is heard, the connection ends.
        callGuard.bound { _ = unsafe amqp_connection_close(state, AMQP_REPLY_SUCCESS) }
    }

    /// Whether the kernel takes something now, so that `publish` is not likely to block.
    var isWritable: Bool { holdfast_is_writable(fd) != 0 }
}

extension timeval {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(tv_sec: Int(clamping: seconds), tv_usec: Int(clamping: attoseconds / 1_000_000_000_000))
    }
}
