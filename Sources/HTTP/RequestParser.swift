/// Takes HTTP/1.1 requests out of a stream of bytes, strictly, however the stream is cut into pieces.
///
/// No I/O, no clock: bytes go in by `receive`, events come out of `next` until it says `needMore`. Each line is judged
/// when it is complete, so that the verdict depends on the bytes alone and never on their fragmentation.
/// What is refused and why nginx is laxer here and there stands in `Tests/HTTPTests/Conformance`.
struct RequestParser: Sendable {
    struct Limits: Sendable {
        var requestLineBytes = 8 << 10
        /// Request line, fields and line ends together; again for a chunked body's trailers.
        var headerBytes = 16 << 10
        var headerCount = 100
        /// One chunk's size with its extensions.
        var chunkLineBytes = 1 << 10
    }

    /// What a request says about its body and its connection.
    struct Traits: Sendable, Equatable {
        enum Framing: Sendable, Equatable { case none, length(Int), chunked }
        var framing = Framing.none
        var keepsAlive = true
        /// An HTTP/1.0 client that asked for it wants to read `Connection: keep-alive`.
        var isHTTP10 = false
        var expectsContinue = false
        /// The answer's body is left out.
        var isHead = false
    }

    enum Event: Sendable {
        case needMore
        /// The head is complete; `admitBody` must be called before `next` goes on.
        case head(HTTPRequestHead, Traits)
        case request(HTTPRequest, Traits)
        /// Final: the stream has no meaning from here on.
        case refused(Refusal)
    }

    enum State: Sendable {
        case requestLine, fields, awaitingAdmission
        case length(left: Int)
        case chunkSize, trailers
        case chunkData(left: Int)
        case chunkEnd(left: Int)
        case refused(Refusal)
    }

    let limits: Limits
    let peer: String
    var state = State.requestLine
    var buffer: [UInt8] = []
    /// Where in `buffer` begins what is not consumed.
    var position = 0
    /// Where to go on looking for a line's end: no byte is looked at twice.
    var scanned = 0

    // The request being read.
    var head = HTTPRequestHead(method: "", path: "/")
    var traits = Traits()
    var seen = SeenFields()
    var headerBytes = 0
    var body: [UInt8] = []
    var bodyLimit = 0

    init(limits: Limits = Limits(), peer: String = "") {
        self.limits = limits
        self.peer = peer
    }

    /// How much is buffered and not consumed: the caller stops receiving beyond a bound of its own.
    var backlog: Int { buffer.count - position }

    /// Whether bytes of a request have come whose header is not complete.
    var isWithinHeader: Bool {
        switch state {
        case .requestLine: backlog > 0 || headerBytes > 0
        case .fields: true
        default: false
        }
    }

    var isWithinBody: Bool {
        switch state {
        case .length, .chunkSize, .chunkData, .chunkEnd, .trailers: true
        default: false
        }
    }

    mutating func receive(_ bytes: borrowing Span<UInt8>) {
        if position == buffer.count {
            // What a large body made of the buffer is not kept by an idle connection.
            buffer.removeAll(keepingCapacity: buffer.capacity <= 16 << 10)
            scanned = 0
            position = 0
        } else if position > 32 << 10 {
            buffer.removeSubrange(..<position)
            scanned -= position
            position = 0
        }
        unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// Says how large a body the request whose head came last may bring; refuses what is known to be larger.
    mutating func admitBody(upTo limit: Int) {
        guard case .awaitingAdmission = state else { return }
        bodyLimit = limit
        switch traits.framing {
        case .none: state = .length(left: 0)
        case .length(let length) where length > limit: state = .refused(.bodyTooLarge)
        case .length(let length):
            body.reserveCapacity(min(length, 64 << 10))
            state = .length(left: length)
        case .chunked: state = .chunkSize
        }
    }

    mutating func next() -> Event {
        do throws(Refusal) {
            while true {
                switch state {
                case .requestLine:
                    guard let line = try requestLine() else { return .needMore }
                    // Clients of old sent an empty line after a body; RFC 9112 2.2 wants it ignored.
                    if line.isEmpty { continue }
                    try parseRequestLine(line)
                    state = .fields
                case .fields:
                    guard let line = try line(upTo: limits.headerBytes - headerBytes, .headerTooLarge) else {
                        return .needMore
                    }
                    headerBytes += line.count + 2
                    if line.isEmpty {
                        try finishHead()
                        state = .awaitingAdmission
                        return .head(head, traits)
                    }
                    try parseField(line)
                case .awaitingAdmission:
                    return .needMore
                case .length(let left):
                    let taken = takeBody(upTo: left)
                    guard taken == left else {
                        state = .length(left: left - taken)
                        return .needMore
                    }
                    return finishRequest()
                case .chunkSize, .chunkData, .chunkEnd, .trailers:
                    guard try advanceChunked() else { return .needMore }
                    if case .requestLine = state { return finishRequest() }
                case .refused(let refusal):
                    return .refused(refusal)
                }
            }
        } catch {
            state = .refused(error)
            return .refused(error)
        }
    }

    private mutating func requestLine() throws(Refusal) -> Range<Int>? {
        // Said at once, not at the deadline: most often somebody speaks TLS to a plain port.
        if position < buffer.count, !ByteSet.method.contains(buffer[position]), buffer[position] != .carriageReturn {
            throw .method
        }
        let limit = min(limits.requestLineBytes, limits.headerBytes - headerBytes)
        guard let line = try line(upTo: limit, .requestLineTooLong) else { return nil }
        headerBytes += line.count + 2
        return line
    }

    /// Consumes a line when it is complete and returns where it lies without its CR LF; refuses one that has no end
    /// within `limit` bytes.
    mutating func line(upTo limit: Int, _ tooLong: Refusal) throws(Refusal) -> Range<Int>? {
        let start = position
        let end = start + min(buffer.count - start, max(0, limit))
        if let index = Self.indexOfLineFeed(in: buffer, from: max(scanned, start), to: end) {
            guard index > start, buffer[index - 1] == .carriageReturn else { throw .lineEnd }
            position = index + 1
            scanned = position
            return start..<(index - 1)
        }
        scanned = end
        if buffer.count - start >= limit { throw tooLong }
        return nil
    }

    private static func indexOfLineFeed(in buffer: [UInt8], from start: Int, to end: Int) -> Int? {
        let bytes = buffer.span
        var index = start
        while index < end {
            if bytes[index] == .lineFeed { return index }
            index += 1
        }
        return nil
    }

    /// Moves at most `count` buffered bytes to the body.
    mutating func takeBody(upTo count: Int) -> Int {
        let taken = min(count, backlog)
        if taken > 0 {
            body.append(contentsOf: buffer[position..<(position + taken)])
            position += taken
            scanned = position
        }
        return taken
    }

    private mutating func finishRequest() -> Event {
        let event = Event.request(HTTPRequest(head: head, body: body), traits)
        state = .requestLine
        head = HTTPRequestHead(method: "", path: "/")
        traits = Traits()
        seen = SeenFields()
        headerBytes = 0
        body = []
        return event
    }
}
