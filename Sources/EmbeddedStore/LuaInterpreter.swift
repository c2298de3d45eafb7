internal import CLua
internal import Redis

/// Runs Redis' scripts by the same Lua that Redis has. It belongs to one thread at a time.
///
/// A script may neither take more memory nor more time than its bounds; what it did until then is the caller's to undo.
@safe final class LuaInterpreter {
    /// Carries out one command of a script; replies with an error rather than throwing.
    typealias Call = ([[UInt8]]) -> RedisReply

    struct OutOfMemory: Error {}

    private let lua: UnsafeMutablePointer<holdfast_lua>
    /// Thousands of instructions that one script may take.
    private let ticks: Int
    private var call: Call = { _ in .null }

    init(memory: Int = 64 << 20, ticks: Int = 50_000) throws(OutOfMemory) {
        guard let lua = unsafe holdfast_lua_new(memory) else { throw OutOfMemory() }
        unsafe self.lua = lua
        self.ticks = ticks
        unsafe lua.pointee.context = Unmanaged.passUnretained(self).toOpaque()
        unsafe lua.pointee.call = { context, count, arguments, lengths in
            guard let context = unsafe context, let arguments = unsafe arguments, let lengths = unsafe lengths else {
                return
            }
            let interpreter = unsafe Unmanaged<LuaInterpreter>.fromOpaque(context).takeUnretainedValue()
            var words: [[UInt8]] = []
            words.reserveCapacity(Int(count))
            for index in 0..<Int(count) {
                words.append(unsafe [UInt8](UnsafeRawBufferPointer(start: arguments[index], count: lengths[index])))
            }
            interpreter.put(interpreter.call(words))
        }
    }

    deinit { unsafe holdfast_lua_free(lua) }

    /// Runs `script` and returns what it returned, or the error with which it ended.
    func run(_ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]], _ call: @escaping Call) -> RedisReply {
        self.call = call
        defer { self.call = { _ in .null } }
        let texts = keys + arguments
        // One buffer for all of them: Lua copies what it is given before the script begins.
        var flat: [UInt8] = []
        for text in texts { flat += text }
        flat.append(0)
        let lengths = texts.map(\.count)
        let isDone = unsafe flat.withUnsafeBytes { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: texts.count + 1) {
                pointers in
                var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                for (index, length) in lengths.enumerated() {
                    unsafe pointers.initializeElement(at: index, to: start)
                    unsafe start = start.map { unsafe $0 + length }
                }
                return unsafe lengths.withUnsafeBufferPointer { lengths in
                    unsafe script.digest.withCString { digest in
                        unsafe script.source.withCString { source in
                            unsafe holdfast_lua_run(
                                lua,
                                holdfast_lua_request(
                                    digest: digest, source: source, source_length: script.source.utf8.count,
                                    texts: UnsafePointer(pointers.baseAddress), lengths: lengths.baseAddress,
                                    keys: Int32(clamping: keys.count), count: Int32(clamping: texts.count)), ticks)
                        }
                    }
                }
            }
        }
        guard isDone != 0 else { return .error("OOM the script takes too much memory") }
        let result = unsafe UnsafeRawBufferPointer(start: lua.pointee.bytes, count: lua.pointee.length)
        var place = 0
        return unsafe Self.decode(result, &place) ?? .error("ERR the script's result cannot be read")
    }

    // MARK: Values (see lua51.h)

    private func put(_ reply: RedisReply) {
        switch reply {
        case .null: put(tag: "n", nil)
        case .integer(let number): put(tag: "i", number)
        case .status(let text): put(tag: "s", Array(text.utf8))
        case .error(let text): put(tag: "e", Array(text.utf8))
        case .bulk(let bytes): put(tag: "b", bytes)
        case .array(let elements):
            put(tag: "a", Int64(elements.count))
            for element in elements { put(element) }
        }
    }

    private func put(tag: Unicode.Scalar, _ number: Int64?) {
        if let number {
            unsafe holdfast_lua_put_number(lua, CChar(truncatingIfNeeded: tag.value), number)
        } else {
            var tag = UInt8(truncatingIfNeeded: tag.value)
            unsafe holdfast_lua_put(lua, &tag, 1)
        }
    }

    private func put(tag: Unicode.Scalar, _ bytes: [UInt8]) {
        put(tag: tag, Int64(bytes.count))
        unsafe bytes.withUnsafeBytes { unsafe holdfast_lua_put(lua, $0.baseAddress, $0.count) }
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer, _ place: inout Int) -> RedisReply? {
        guard place < bytes.count else { return nil }
        let tag = unsafe bytes[place]
        place += 1
        if tag == UInt8(ascii: "n") { return .null }
        guard bytes.count - place >= 8 else { return nil }
        let number = unsafe bytes.loadUnaligned(fromByteOffset: place, as: Int64.self)
        place += 8
        switch tag {
        case UInt8(ascii: "i"): return .integer(number)
        case UInt8(ascii: "a"):
            var elements: [RedisReply] = []
            var rest = number
            while rest > 0 {
                guard let element = unsafe decode(bytes, &place) else { return nil }
                elements.append(element)
                rest -= 1
            }
            return .array(elements)
        default:
            guard number >= 0, number <= Int64(bytes.count - place) else { return nil }
            let text = unsafe [UInt8](UnsafeRawBufferPointer(rebasing: bytes[place..<place + Int(number)]))
            place += Int(number)
            switch tag {
            case UInt8(ascii: "b"): return .bulk(text)
            case UInt8(ascii: "s"): return .status(String(decoding: text, as: UTF8.self))
            case UInt8(ascii: "e"): return .error(String(decoding: text, as: UTF8.self))
            default: return nil
            }
        }
    }
}
