internal import CHiredis

/// Builds replies while hiredis parses them, in place of its own reply objects: one copy instead of two, and a bound.
///
/// hiredis believes the lengths that the server states and allocates for them at once; this does not. And it asserts
/// that nobody replies unasked; `expectsReply` turns such a reply into a broken connection instead of a broken process.
final class ReplyBuilder {
    /// An array that still grows, or the root.
    final class Node {
        var elements: [Element] = []
        var scalar: RedisReply?

        enum Element {
            case leaf(RedisReply)
            case node(Node)
        }

        /// hiredis does not nest deeper than seven.
        var reply: RedisReply {
            if let scalar { return scalar }
            return .array(
                elements.map {
                    switch $0 {
                    case .leaf(let reply): reply
                    case .node(let node): node.reply
                    }
                })
        }
    }

    let limit: Int
    /// Whether a command waits for an answer.
    var expectsReply: () -> Bool = { false }
    private var size = 0

    init(limit: Int) { self.limit = limit }

    /// Returns what hiredis shall keep for the new value; nil makes it give up the connection.
    fileprivate func add(_ reply: RedisReply, size: Int, to parent: UnsafeMutablePointer<redisReadTask>?)
        -> UnsafeMutableRawPointer?
    {
        guard admit(size, isRoot: unsafe parent == nil) else { return nil }
        guard let parent = unsafe parent else {
            let root = Node()
            root.scalar = reply
            return unsafe Unmanaged.passRetained(root).toOpaque()
        }
        guard let object = unsafe parent.pointee.obj else { return nil }
        unsafe Unmanaged<Node>.fromOpaque(object).takeUnretainedValue().elements.append(.leaf(reply))
        // Not nil is all that counts: a leaf has no children, and only roots are freed.
        return unsafe object
    }

    fileprivate func addArray(to parent: UnsafeMutablePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
        guard admit(0, isRoot: unsafe parent == nil) else { return nil }
        let node = Node()
        guard let parent = unsafe parent else { return unsafe Unmanaged.passRetained(node).toOpaque() }
        guard let object = unsafe parent.pointee.obj else { return nil }
        unsafe Unmanaged<Node>.fromOpaque(object).takeUnretainedValue().elements.append(.node(node))
        return unsafe Unmanaged.passUnretained(node).toOpaque()
    }

    private func admit(_ bytes: Int, isRoot: Bool) -> Bool {
        if isRoot {
            guard expectsReply() else { return false }
            size = 0
        }
        // Elements cost memory even when they are empty.
        size = size &+ bytes &+ 64
        return size <= limit
    }

    /// Takes over a finished root that hiredis hands to a reply callback; it frees it itself afterwards.
    static func reply(from object: UnsafeMutableRawPointer) -> RedisReply {
        unsafe Unmanaged<Node>.fromOpaque(object).takeUnretainedValue().reply
    }

    /// What a reader is told to call. It lives as long as the process.
    nonisolated(unsafe) static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        unsafe functions.initialize(
            to: redisReplyObjectFunctions(
                createString: { task, bytes, count in
                    guard let (builder, parent) = unsafe ReplyBuilder.of(task) else { return nil }
                    let buffer = unsafe UnsafeBufferPointer(start: bytes, count: count)
                    return unsafe builder.add(text(buffer, type: task?.pointee.type ?? 0), size: count, to: parent)
                },
                createArray: { task, _ in
                    guard let (builder, parent) = unsafe ReplyBuilder.of(task) else { return nil }
                    return unsafe builder.addArray(to: parent)
                },
                createInteger: { task, value in
                    guard let (builder, parent) = unsafe ReplyBuilder.of(task) else { return nil }
                    return unsafe builder.add(.integer(Int64(value)), size: 0, to: parent)
                },
                createNil: { task in
                    guard let (builder, parent) = unsafe ReplyBuilder.of(task) else { return nil }
                    return unsafe builder.add(.null, size: 0, to: parent)
                },
                freeObject: { object in
                    guard let object = unsafe object else { return }
                    unsafe Unmanaged<Node>.fromOpaque(object).release()
                }))
        return unsafe functions
    }()

    private static func of(_ task: UnsafePointer<redisReadTask>?)
        -> (ReplyBuilder, UnsafeMutablePointer<redisReadTask>?)?
    {
        guard let task = unsafe task, let builder = unsafe task.pointee.privdata else { return nil }
        return unsafe (Unmanaged<ReplyBuilder>.fromOpaque(builder).takeUnretainedValue(), task.pointee.parent)
    }

    private static func text(_ bytes: UnsafeBufferPointer<CChar>, type: Int32) -> RedisReply {
        let bytes = UnsafeRawBufferPointer(bytes)
        return switch type {
        case REDIS_REPLY_STATUS: unsafe .status(String(decoding: bytes, as: UTF8.self))
        case REDIS_REPLY_ERROR: unsafe .error(String(decoding: bytes, as: UTF8.self))
        default: unsafe .bulk(Array(bytes))
        }
    }
}
