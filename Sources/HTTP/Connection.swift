internal import CLinux
internal import Glibc
internal import Runtime

/// One client's connection, from accept to close, on its loop's thread and no other.
///
/// It has one request in hand at a time: what a client pipelines waits in the parser's buffer, and in the socket once
/// that is full, so answers go out in order and nothing grows beyond its bound.
final class Connection {
    enum Phase {
        case reading
        /// A task works on the answer.
        case answering(RequestParser.Traits)
        /// The last answer is on its way out.
        case closing
        /// Everything is sent; what the client still sends is thrown away until it closes.
        case lingering
        case closed
    }

    let id: UInt64
    let peer: PeerAddress
    private let descriptor: Int32
    private let set: ConnectionSet
    private let worker: HTTPWorker
    private var tls: TLSSession?
    private var parser: RequestParser
    private var phase = Phase.reading
    private var output = OutputBuffer()
    private var requests = 0
    private var peerEnded = false
    private var wantsMoreOutputRoom = false
    private var isTaskRunning = false

    private var interest: EventLoop.Interest = .read
    private var wait: ConnectionWait?
    private var deadline: ContinuousClock.Instant = .now
    private var timer: (id: EventLoop.TimerID, due: ContinuousClock.Instant)?

    /// Pipelined requests are answered until so much waits to be sent.
    private static let outputHighWater = 64 << 10
    /// How much a client may send ahead while its request is being answered.
    private static let backlogLimit = 64 << 10

    init(_ descriptor: Int32, peer: PeerAddress, set: ConnectionSet, worker: HTTPWorker, tls: TLSSession?) {
        id = set.nextID()
        self.descriptor = descriptor
        self.peer = peer
        self.set = set
        self.worker = worker
        parser = RequestParser(limits: set.parserLimits, peer: peer.text)
        self.tls = tls
    }

    // MARK: Events

    func start() {
        // Small answers leave at once; nothing is lost if the kernel does not know the option.
        var one: Int32 = 1
        _ = unsafe setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        do {
            try set.loop.watch(descriptor, for: interest) { [self] in ready($0) }
        } catch {
            set.log.error("cannot watch a connection", ["error": .init(error)])
            close()
            return
        }
        settle()
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        if interest.contains(.read) {
            if readiness.contains(.read) || readiness.contains(.hangup) { receive() }
        } else if readiness.contains(.hangup) {
            // Without interest in reading, only a connection that is gone in both directions says so.
            close()
        }
        if case .closed = phase { return }
        proceed()
    }

    /// The answer of a `.later`.
    func finish(_ response: HTTPResponse) {
        isTaskRunning = false
        guard case .answering(let traits) = phase else {
            if case .closed = phase { set.remove(self) }
            return
        }
        phase = .reading
        answer(response, traits)
        proceed()
    }

    /// Ends the connection if no request is in hand; otherwise its answer will.
    func drain() {
        guard case .reading = phase, parser.backlog == 0, !parser.isWithinHeader, !parser.isWithinBody else { return }
        // A request that has arrived but was not read yet is still answered.
        if interest.contains(.read) { receive() }
        if case .closed = phase { return }
        if case .reading = phase, parser.backlog == 0 { phase = .closing }
        proceed()
    }

    func abort() {
        close()
        set.remove(self)
    }

    // MARK: Input

    private func receive() {
        if parser.backlog >= Self.backlogLimit, case .answering = phase {
            want(interest.subtracting(.read))
            return
        }
        let count = unsafe set.scratch.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        if count < 0 {
            if errno != EAGAIN && errno != EINTR { close() }
            return
        }
        if count == 0 {
            peerEnded = true
            return
        }
        set.metrics.receivedBytes.increment(by: UInt64(count))
        if case .lingering = phase { return }
        let scratch = set.scratch
        let bytes = scratch.span.extracting(0..<count)
        if let tls {
            switch tls.receive(bytes, into: &parser) {
            case .open: break
            case .ended: peerEnded = true
            case .failed(let error): tlsFailed(error)
            }
            tls.takeOutput(into: &output.bytes)
        } else {
            parser.receive(bytes)
        }
    }

    private func tlsFailed(_ error: TLSError) {
        set.metrics.refused("tls")
        set.log.debug("TLS failed", ["peer": .init(peer.text), "error": .init(error)])
        // The alert still goes out; an answer in the making has nobody left to read it.
        phase = .closing
    }

    /// Does what input and the room for output allow.
    private func proceed() {
        repeat {
            wantsMoreOutputRoom = false
            answerWhatIsComplete()
            flush()
        } while wantsMoreOutputRoom && output.isEmpty
        settle()
    }

    private func answerWhatIsComplete() {
        while case .reading = phase {
            guard output.count < Self.outputHighWater else {
                wantsMoreOutputRoom = true
                return
            }
            switch parser.next() {
            case .needMore:
                if peerEnded { phase = .closing }
                return
            case .head(let head, let traits): admit(head, traits)
            case .request(let request, let traits):
                requests += 1
                respond(to: request, traits)
            case .refused(let refusal): refuse(refusal)
            }
        }
    }

    private func admit(_ head: HTTPRequestHead, _ traits: RequestParser.Traits) {
        switch set.handler.admit(head) {
        case nil: parser.admitBody(upTo: set.settings.bodyBytes)
        case .body(let limit): parser.admitBody(upTo: limit)
        case .refuse(let response):
            if traits.framing == .none || traits.framing == .length(0) {
                parser.admitBody(upTo: 0)
                // Nothing is missing, so the request is complete and the connection may go on.
                _ = parser.next()
                requests += 1
                answer(response, traits)
            } else {
                answer(response, traits, closes: true)
            }
            return
        }
        if traits.expectsContinue, parser.isWithinBody, parser.backlog == 0 { emit(ResponseWriter.continueLine) }
    }

    private func respond(to request: HTTPRequest, _ traits: RequestParser.Traits) {
        switch set.handler.respond(to: request) {
        case .now(let response): answer(response, traits)
        case .later(let work):
            phase = .answering(traits)
            isTaskRunning = true
            let (worker, id) = (worker, id)
            Task {
                let response = await work()
                await worker.finish(id, response)
            }
        }
    }

    // MARK: Output

    private func answer(_ response: HTTPResponse, _ traits: RequestParser.Traits, closes: Bool = false) {
        var closes = closes
        switch response.fault {
        case .dropped:
            close()
            return
        case .truncated: closes = true
        case .dated, nil: break
        }
        closes = closes || !traits.keepsAlive || set.isDraining || peerEnded && parser.backlog == 0
        set.metrics.answered(response.status)
        if tls == nil {
            ResponseWriter.write(response, to: &output.bytes, date: set.dateNow(), traits: traits, closes: closes)
        } else {
            var bytes: [UInt8] = []
            ResponseWriter.write(response, to: &bytes, date: set.dateNow(), traits: traits, closes: closes)
            emit(bytes)
        }
        if closes { phase = .closing }
    }

    private func refuse(_ refusal: Refusal) {
        set.metrics.refused(refusal.reason)
        answer(refusal.response, RequestParser.Traits(), closes: true)
    }

    private func emit(_ bytes: [UInt8]) {
        if let tls {
            if !tls.send(bytes) { phase = .closing }
            tls.takeOutput(into: &output.bytes)
        } else {
            output.bytes.append(contentsOf: bytes)
        }
    }

    private func flush() {
        let metrics = set.metrics
        if output.send(to: descriptor, { metrics.sentBytes.increment(by: UInt64($0)) }) == .failed { close() }
    }

    // MARK: What comes next

    /// Sets interest and deadline to what the connection now waits for.
    private func settle() {
        let isSending = !output.isEmpty
        if case .closing = phase, !isSending { endOutput() }
        switch phase {
        case .closed: return
        case .lingering:
            if peerEnded {
                close()
                return
            }
            want(.read)
            awaiting(ConnectionWait(.linger))
        case .closing:
            want(.write)
            awaiting(ConnectionWait(.write, output.sentInAll >> 16))
        case .answering:
            if isSending {
                want(.write)
                awaiting(ConnectionWait(.write, output.sentInAll >> 16))
            } else {
                want(peerEnded ? [] : interest.subtracting(.write))
                wait = nil
            }
        case .reading:
            if isSending {
                want(.write)
                awaiting(ConnectionWait(.write, output.sentInAll >> 16))
                return
            }
            want(.read)
            if parser.isWithinBody {
                awaiting(ConnectionWait(.body, requests))
            } else if parser.isWithinHeader || requests == 0 {
                awaiting(ConnectionWait(.header, requests))
            } else {
                awaiting(ConnectionWait(.idle, requests))
            }
        }
    }

    private func endOutput() {
        if let tls {
            tls.endSending()
            tls.takeOutput(into: &output.bytes)
            flush()
            if case .closed = phase { return }
        }
        phase = .lingering
        if !peerEnded { shutdown(descriptor, Int32(SHUT_WR)) }
    }

    private func want(_ wanted: EventLoop.Interest) {
        guard wanted != interest else { return }
        do {
            try set.loop.rewatch(descriptor, for: wanted)
            interest = wanted
        } catch {
            set.log.error("cannot watch a connection", ["error": .init(error)])
            close()
        }
    }

    private func awaiting(_ next: ConnectionWait) {
        guard next != wait else { return }
        wait = next
        deadline = .now + next.limit(by: set.settings)
        // A timer that fires too early looks again; so a kept connection does not set one per request.
        if let timer, timer.due <= deadline { return }
        setTimer()
    }

    private func setTimer() {
        if let timer { set.loop.cancel(timer.id) }
        timer = (set.loop.schedule(after: deadline - .now) { [self] in timerFired() }, deadline)
    }

    private func timerFired() {
        timer = nil
        guard let wait else { return }
        guard deadline <= .now else {
            setTimer()
            return
        }
        switch wait.kind {
        case .idle, .linger: close()
        case .write:
            set.metrics.refused("write-deadline")
            close()
        case .body:
            refuse(.bodyTimeout)
            proceed()
        case .header where parser.isWithinHeader:
            refuse(.headerTimeout)
            proceed()
        case .header:
            set.metrics.refused("silent")
            close()
        }
    }

    private func close() {
        if case .closed = phase { return }
        phase = .closed
        wait = nil
        if let timer { set.loop.cancel(timer.id) }
        timer = nil
        set.loop.unwatch(descriptor)
        Glibc.close(descriptor)
        tls = nil
        output.discard()
        parser = RequestParser(limits: set.parserLimits)
        if !isTaskRunning { set.remove(self) }
    }
}
