internal import CHiredis
internal import Glibc
internal import Runtime

/// Owns one hiredis context and ties it to an event loop. It belongs to the loop's thread, as everything it calls does.
///
/// hiredis frees the context by itself when the connection breaks, and tells so by its `cleanup` hook alone in every
/// case; from then on `context` is nil. It must not be freed while it is on the stack, so `close` waits for that.
@safe final class HiredisConnection {
    /// Called once: the connection stands, or the reason why not.
    var onOpen: (RedisError?) -> Void = { _ in }
    /// Called once for each command in order; fails with what broke the connection when it did before the reply.
    var onReply: (Result<RedisReply, RedisError>) -> Void = { _ in }
    /// Called last, once, with what broke the connection.
    var onClose: (RedisError) -> Void = { _ in }

    private let loop: EventLoop
    private let builder: ReplyBuilder
    private var context: UnsafeMutablePointer<redisAsyncContext>?
    private var fileDescriptor: Int32 = -1
    private var interest: EventLoop.Interest = []
    private var isOpen = false
    private var inFlight = 0
    private var depth = 0
    private var closing: RedisError?
    private var flushIsPosted = false

    /// Begins to connect. Only a numeric address does not block.
    init(address: String, port: Int, replyBytes: Int, loop: EventLoop) throws(RedisError) {
        // hiredis writes without MSG_NOSIGNAL: a peer that is gone must be an error, not the end of the process.
        _ = Self.brokenPipesAreErrors
        self.loop = loop
        builder = ReplyBuilder(limit: replyBytes)
        guard let context = unsafe redisAsyncConnect(address, Int32(clamping: port)) else {
            throw RedisError(.unreachable, "out of memory")
        }
        guard unsafe context.pointee.err == 0 else {
            let error = unsafe RedisError(.unreachable, Self.message(of: context))
            unsafe redisAsyncFree(context)
            throw error
        }
        unsafe self.context = context
        fileDescriptor = unsafe context.pointee.c.fd
        _ = fcntl(fileDescriptor, F_SETFD, FD_CLOEXEC)
        builder.expectsReply = { [unowned self] in inFlight > 0 }
        do {
            try loop.watch(fileDescriptor, for: []) { [weak self] in self?.isReady($0) }
        } catch {
            unsafe self.context = nil
            unsafe redisAsyncFree(context)
            throw RedisError(.unreachable, "\(error)")
        }
        unsafe attach(context)
    }

    private static let broken = RedisError(.unreachable, "the connection broke")

    private static let brokenPipesAreErrors: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    private func attach(_ context: UnsafeMutablePointer<redisAsyncContext>) {
        unsafe context.pointee.c.reader.pointee.fn = ReplyBuilder.functions
        unsafe context.pointee.c.reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe context.pointee.data = me
        unsafe context.pointee.ev.data = me
        unsafe context.pointee.ev.addRead = { unsafe HiredisConnection.of($0)?.add(.read) }
        unsafe context.pointee.ev.delRead = { unsafe HiredisConnection.of($0)?.remove(.read) }
        unsafe context.pointee.ev.addWrite = { unsafe HiredisConnection.of($0)?.wantsToWrite() }
        unsafe context.pointee.ev.delWrite = { unsafe HiredisConnection.of($0)?.remove(.write) }
        unsafe context.pointee.ev.cleanup = { unsafe HiredisConnection.of($0)?.contextIsGone() }
        // Setting it also asks for the first write event, by which a connection announces itself.
        unsafe redisAsyncSetConnectCallback(context) { context, status in
            guard let context = unsafe context else { return }
            unsafe HiredisConnection.of(context.pointee.data)?.connected(status)
        }
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> HiredisConnection? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<HiredisConnection>.fromOpaque(pointer).takeUnretainedValue()
    }

    deinit {
        // The owner closes first, and the context keeps no reference to this object after that.
        precondition(unsafe context == nil, "a hiredis connection must be closed before it is let go")
    }

    // MARK: What the owner does

    /// Puts a command into the output buffer; everything put there in one turn of the loop leaves in one write.
    /// False when the connection is going down; then `onReply` will not be called for it.
    func send(_ arguments: [RedisArgument]) -> Bool {
        guard let context = unsafe context, closing == nil else { return false }
        var flat: [UInt8] = []
        var lengths: [Int] = []
        lengths.reserveCapacity(arguments.count)
        for argument in arguments {
            let start = flat.count
            argument.append(to: &flat)
            lengths.append(flat.count - start)
        }
        // hiredis takes bytes as `char *`, and an empty array has no address.
        flat.append(0)
        let status = unsafe flat.withUnsafeBytes { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: arguments.count) { argv in
                var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                for (index, length) in lengths.enumerated() {
                    unsafe argv.initializeElement(at: index, to: start)
                    unsafe start = start.map { unsafe $0 + length }
                }
                return unsafe redisAsyncCommandArgv(
                    context,
                    { context, reply, _ in
                        guard let context = unsafe context else { return }
                        unsafe HiredisConnection.of(context.pointee.data)?.replied(reply)
                    }, nil, Int32(clamping: lengths.count), argv.baseAddress, lengths)
            }
        }
        guard status == REDIS_OK else { return false }
        inFlight += 1
        return true
    }

    /// Breaks the connection: every command in flight fails with `reason`, then `onClose` is called with `reason`.
    func close(_ reason: RedisError) {
        if closing == nil { closing = reason }
        guard depth == 0, let context = unsafe context else { return }
        depth += 1
        unsafe redisAsyncFree(context)
        depth -= 1
        finish()
    }

    // MARK: What the loop says

    private func isReady(_ readiness: EventLoop.Readiness) {
        unsafe enter { context in
            // An error shows itself by reading or, while connecting, by the write event.
            if readiness.contains(.write) || (readiness.contains(.hangup) && !isOpen) {
                unsafe redisAsyncHandleWrite(context)
            }
            if let context = unsafe self.context, closing == nil, isOpen,
                readiness.contains(.read) || readiness.contains(.hangup)
            {
                unsafe redisAsyncHandleRead(context)
            }
        }
        // hiredis collects as much of one reply as the server cares to send.
        if let context = unsafe context, unsafe context.pointee.c.reader.pointee.len > builder.limit {
            close(RedisError(.unreachable, "a reply exceeds \(builder.limit) bytes"))
        }
    }

    private func flush() {
        flushIsPosted = false
        unsafe enter { unsafe redisAsyncHandleWrite($0) }
    }

    /// Calls into hiredis, which may free the context, and does afterwards what had to wait for that.
    private func enter(_ body: (UnsafeMutablePointer<redisAsyncContext>) -> Void) {
        guard let context = unsafe context else { return }
        depth += 1
        unsafe body(context)
        depth -= 1
        if unsafe self.context == nil {
            finish()
        } else if let closing {
            close(closing)
        }
    }

    private func finish() {
        guard depth == 0 else { return }
        let reason = closing ?? Self.broken
        let (opened, closed) = (onOpen, onClose)
        (onOpen, onReply, onClose) = ({ _ in }, { _ in }, { _ in })
        if !isOpen { opened(reason) }
        closed(reason)
    }

    // MARK: What hiredis says

    private func connected(_ status: Int32) {
        guard status == REDIS_OK else { return note() }
        isOpen = true
        let opened = onOpen
        onOpen = { _ in }
        opened(nil)
    }

    private func replied(_ reply: UnsafeMutableRawPointer?) {
        inFlight -= 1
        if let reply = unsafe reply {
            onReply(.success(unsafe ReplyBuilder.reply(from: reply)))
        } else {
            note()
            onReply(.failure(closing ?? Self.broken))
        }
    }

    private func contextIsGone() {
        note()
        loop.unwatch(fileDescriptor)
        unsafe context = nil
    }

    /// Keeps what hiredis knows about the end while it is still there to be asked.
    private func note() {
        guard closing == nil, let context = unsafe context else { return }
        closing = unsafe RedisError(.unreachable, Self.message(of: context))
    }

    private static func message(of context: UnsafeMutablePointer<redisAsyncContext>) -> String {
        unsafe withUnsafeBytes(of: context.pointee.c.errstr) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    // MARK: Hooks; each may be called again and again

    private func wantsToWrite() {
        // A fresh command waits for others of this turn; a full socket, or one still connecting, waits for epoll.
        if !isOpen || depth > 0 { return add(.write) }
        guard !flushIsPosted else { return }
        flushIsPosted = true
        loop.schedule(after: .zero) { [weak self] in self?.flush() }
    }

    private func add(_ new: EventLoop.Interest) { watch(interest.union(new)) }

    private func remove(_ old: EventLoop.Interest) { watch(interest.subtracting(old)) }

    private func watch(_ wanted: EventLoop.Interest) {
        guard wanted != interest, unsafe context != nil else { return }
        interest = wanted
        do {
            try loop.rewatch(fileDescriptor, for: wanted)
        } catch {
            // Without events it would hang for ever.
            closing = closing ?? RedisError(.unreachable, "\(error)")
        }
    }
}
