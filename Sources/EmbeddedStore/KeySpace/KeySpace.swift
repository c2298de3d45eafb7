internal import Redis
internal import Runtime
internal import SQLite
internal import Time

/// Redis' keys over one connection to the store's file: the commands that Holdfast sends, as Redis carries them out.
/// It belongs to its connection's thread, and every command within somebody's transaction.
final class KeySpace {
    enum Kind: Int64 {
        case string = 1
        case hash, list, sortedSet, stream

        var name: String {
            switch self {
            case .string: "string"
            case .hash: "hash"
            case .list: "list"
            case .sortedSet: "zset"
            case .stream: "stream"
            }
        }
    }

    struct Key {
        let id: Int64
        let kind: Kind
        let expires: Int64?
        let value: [UInt8]
    }

    let connection: SQLiteConnection
    private let clock: WallClock
    private var statements: [String: SQLiteStatement] = [:]
    private let interpreter: LuaInterpreter?
    private var scripts: [String: RedisScript] = [:]
    private var isInScript = false
    /// Raised whenever an entry is added to a stream.
    private(set) var streamWrites = 0

    /// `interpreter` is nil where only reads are carried out.
    init(_ connection: SQLiteConnection, interpreter: LuaInterpreter?, clock: WallClock) {
        self.connection = connection
        self.interpreter = interpreter
        self.clock = clock
    }

    /// Milliseconds of the wall clock, by which keys expire and entries are named.
    var now: Int64 { clock.now().milliseconds }

    // MARK: Commands

    /// Carries out one command. What it did before it failed is the caller's to undo.
    func execute(_ words: [[UInt8]]) throws(KeySpaceFailure) -> RedisReply {
        guard let command = KeyCommand(words) else { throw .command(.unknown(words)) }
        guard command.accepts(words.count) else { throw .command(.arity(command.rawValue)) }
        let arguments = Array(words.dropFirst())
        return switch command {
        case .ping: .status("PONG")
        case .time: .array([.bulk(Array("\(now / 1000)".utf8)), .bulk(Array("\(now % 1000 * 1000)".utf8))])
        case .info: try info()
        case .dbsize:
            .integer(try number("SELECT count(*) FROM keys WHERE expires IS NULL OR expires > ?", [.integer(now)]))
        case .scan: try scan(arguments)
        case .keys: try keys(matching: arguments[0])
        case .type: .status(try find(arguments[0])?.kind.name ?? "none")
        case .exists: .integer(try count(arguments) { (key) throws(KeySpaceFailure) in try self.find(key) != nil })
        case .del: .integer(try count(arguments) { (key) throws(KeySpaceFailure) in try self.remove(key) })
        case .pexpire: try expire(arguments)
        case .pttl: try timeToLive(arguments[0])
        case .flushall: try flush()
        case .get: try get(arguments[0])
        case .set: try set(arguments)
        case .hget: try hashGet(arguments[0], arguments[1])
        case .hmget: try hashGet(arguments[0], Array(arguments[1...]))
        case .hgetall: try hashAll(arguments[0])
        case .hkeys: try hashKeys(arguments[0])
        case .hlen: try hashLength(arguments[0])
        case .hexists: try hashGet(arguments[0], arguments[1]).isNull ? .integer(0) : .integer(1)
        case .hset: try hashSet(arguments)
        case .hsetnx: try hashSetIfAbsent(arguments)
        case .hdel: try hashRemove(arguments)
        case .hincrby: try hashIncrement(arguments)
        case .rpush: try listPush(arguments)
        case .llen: try listLength(arguments[0])
        case .lrange: try listRange(arguments)
        case .ltrim: try listTrim(arguments)
        case .zadd: try scoreAdd(arguments)
        case .zrem: try scoreRemove(arguments)
        case .zremrangebyscore: try scoreRemoveByScore(arguments)
        case .zremrangebyrank: try scoreRemoveByRank(arguments)
        case .zcard: try scoreCount(arguments[0])
        case .zcount: try scoreCount(between: arguments)
        case .zscore: try score(arguments)
        case .zrange: try scoreRange(arguments)
        case .zrangebyscore: try scoreRangeByScore(arguments)
        case .xadd: try streamAdd(arguments)
        case .xlen: try streamLength(arguments[0])
        case .xrange: try streamRange(arguments)
        case .xread: try streamRead(arguments)
        case .xinfo: try streamInfo(arguments)
        case .xtrim: try streamTrim(arguments)
        case .eval, .evalsha: try evaluate(arguments, bySource: command == .eval)
        }
    }

    private func count(
        _ keys: [[UInt8]], _ isCounted: ([UInt8]) throws(KeySpaceFailure) -> Bool
    ) throws(KeySpaceFailure) -> Int64 {
        var count: Int64 = 0
        for key in keys where try isCounted(key) { count += 1 }
        return count
    }

    // MARK: Scripts

    func evaluate(
        _ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]]
    ) throws(KeySpaceFailure) -> RedisReply {
        guard let interpreter, !isInScript else { throw .command(.nestedScript) }
        scripts[script.digest] = script
        // Nobody has that many; whoever makes scripts up shall not fill the memory.
        if scripts.count > 1000 { scripts = [script.digest: script] }
        isInScript = true
        defer { isInScript = false }
        var fileFailure: StoreFileFailure?
        let reply = interpreter.run(script, keys: keys, arguments: arguments) { words in
            // The file does not get better by the script's going on.
            if let fileFailure { return .error(fileFailure.reply) }
            guard let command = KeyCommand(words) else { return .error(CommandError.unknownInScript.text) }
            guard command.accepts(words.count) else { return .error(CommandError.arityInScript.text) }
            do throws(KeySpaceFailure) { return try self.execute(words) } catch {
                switch error {
                case .command(let error): return .error(error.text)
                case .file(let failure):
                    fileFailure = failure
                    return .error(failure.reply)
                }
            }
        }
        if let fileFailure { throw .file(fileFailure) }
        if case .error(let text) = reply { throw .command(CommandError(text)) }
        return reply
    }

    private func evaluate(_ arguments: [[UInt8]], bySource: Bool) throws(KeySpaceFailure) -> RedisReply {
        guard let count = Self.integer(arguments[1]) else { throw .command(.notAnInteger) }
        guard count >= 0 else { throw .command(.negativeKeys) }
        guard count <= arguments.count - 2 else { throw .command(.tooManyKeys) }
        let text = String(decoding: arguments[0], as: UTF8.self)
        guard let script = bySource ? RedisScript(text) : scripts[text.lowercased()] else { throw .command(.noScript) }
        let rest = arguments.dropFirst(2)
        return try evaluate(script, keys: Array(rest.prefix(Int(count))), arguments: Array(rest.dropFirst(Int(count))))
    }

    // MARK: The file

    /// Runs a statement, which is prepared once, and gives what `read` makes of each row.
    func rows<Value>(
        _ sql: String, _ values: [SQLiteStatement.Value], _ read: (SQLiteStatement) throws(SQLiteError) -> Value
    ) throws(KeySpaceFailure) -> [Value] {
        do throws(SQLiteError) { return try prepared(sql).all(values, read) } catch {
            throw .file(StoreFileFailure(error))
        }
    }

    func row<Value>(
        _ sql: String, _ values: [SQLiteStatement.Value], _ read: (SQLiteStatement) throws(SQLiteError) -> Value
    ) throws(KeySpaceFailure) -> Value? {
        do throws(SQLiteError) { return try prepared(sql).first(values, read) } catch {
            throw .file(StoreFileFailure(error))
        }
    }

    /// The first column of the first row; 0 when there is none.
    func number(_ sql: String, _ values: [SQLiteStatement.Value] = []) throws(KeySpaceFailure) -> Int64 {
        try row(sql, values) { (row) throws(SQLiteError) in row.integer(0) } ?? 0
    }

    /// Returns how many rows it changed.
    @discardableResult
    func run(_ sql: String, _ values: [SQLiteStatement.Value] = []) throws(KeySpaceFailure) -> Int {
        do throws(SQLiteError) {
            try prepared(sql).run(values)
            return connection.changes
        } catch { throw .file(StoreFileFailure(error)) }
    }

    private func prepared(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        if let statement = statements[sql] { return statement }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    func noteStreamWrite() { streamWrites &+= 1 }

    // MARK: Arguments

    /// As Redis reads one: decimal, no blanks, no plus.
    static func integer(_ bytes: [UInt8]) -> Int64? {
        guard let first = bytes.first, first != UInt8(ascii: "+"), bytes.count <= 20 else { return nil }
        return Int64(String(decoding: bytes, as: UTF8.self))
    }

    static func word(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).uppercased() }
}
