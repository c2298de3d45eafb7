internal import CLinux
internal import Glibc
internal import Runtime

/// A server's share on one loop: accepts connections and owns them.
actor HTTPWorker {
    private let loop: EventLoop
    private let set: ConnectionSet
    private var identity: TLSIdentity?
    private var listener: Int32?
    /// Accepts per wake-up: the other loops that share the listener get their part of a burst.
    private let acceptsAtOnce = 16

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        loop: EventLoop, settings: HTTPServerSettings, handler: any HTTPHandler, metrics: HTTPServerMetrics,
        ledger: ConnectionLedger, log: Log
    ) {
        self.loop = loop
        set = ConnectionSet(
            loop: loop, settings: settings, handler: handler, metrics: metrics, ledger: ledger, log: log)
    }

    /// Accepts from `listener`, which other loops may share; speaks TLS if there is an identity.
    func listen(on listener: Int32, _ identity: TLSIdentity?) throws(SystemError) {
        self.identity = identity
        self.listener = listener
        try watchListener(listener)
    }

    private func watchListener(_ listener: Int32) throws(SystemError) {
        try loop.watch(listener, for: [.read, .exclusive]) { [self] _ in accept(from: listener, atMost: acceptsAtOnce) }
    }

    /// Hands the answer of a `.later` to its connection, if that is still there.
    func finish(_ connection: UInt64, _ response: HTTPResponse) {
        set.connections[connection]?.finish(response)
    }

    /// Takes what waits in the listener's queue and stops listening; the owner closes the listener after all loops did.
    func stopAccepting() {
        guard let listener else { return }
        accept(from: listener, atMost: 4096)
        loop.unwatch(listener)
        self.listener = nil
    }

    /// Returns when every connection has been answered and closed.
    func drain() async {
        set.beginDraining()
        await withCheckedContinuation { set.notifyWhenEmpty($0) }
    }

    /// Closes everything at once.
    func abort() { set.abort() }

    private func accept(from listener: Int32, atMost count: Int) {
        for _ in 0..<count {
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe holdfast_accept(listener, $0, &length)
                }
            }
            if descriptor >= 0 {
                admit(descriptor, PeerAddress(address))
                continue
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                pause(listener, SystemError(call: "accept"))
                return
            default: return
            }
        }
    }

    /// Out of descriptors or memory: the queue keeps what comes until some are free again.
    private func pause(_ listener: Int32, _ error: SystemError) {
        guard self.listener == listener else { return }
        set.log.warning("cannot accept connections", ["error": .init(error)])
        loop.unwatch(listener)
        loop.schedule(after: .milliseconds(100)) { [self] in
            guard self.listener == listener else { return }
            do throws(SystemError) { try watchListener(listener) } catch { pause(listener, error) }
        }
    }

    private func admit(_ descriptor: Int32, _ peer: PeerAddress) {
        set.metrics.accepted.increment()
        guard set.ledger.admit(peer.group) else {
            refuse(descriptor)
            return
        }
        let tls = identity?.makeSession()
        if identity != nil && tls == nil {
            set.log.error("cannot set up TLS for a connection")
            close(descriptor)
            set.ledger.release(peer.group)
            return
        }
        let connection = Connection(descriptor, peer: peer, set: set, worker: self, tls: tls)
        set.add(connection)
        connection.start()
    }

    /// Says 503 with what fits into the socket's buffer, without taking the connection in. Over TLS there is nothing one
    /// could say before a handshake.
    private func refuse(_ descriptor: Int32) {
        set.metrics.refused(Refusal.tooManyConnections.reason)
        if identity == nil {
            set.metrics.answered(503)
            var bytes: [UInt8] = []
            ResponseWriter.write(
                Refusal.tooManyConnections.response, to: &bytes, date: set.dateNow(), traits: RequestParser.Traits(),
                closes: true)
            _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            shutdown(descriptor, Int32(SHUT_WR))
            // Closing with unread bytes resets the connection and takes the answer away: read what is there.
            _ = unsafe set.scratch.withUnsafeMutableBytes { buffer in
                unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            }
        }
        close(descriptor)
    }
}
