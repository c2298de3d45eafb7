/// Why a command is not carried out, in Redis' own words: whoever reads them expects these.
struct CommandError: Error, Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static let wrongType = CommandError("WRONGTYPE Operation against a key holding the wrong kind of value")
    static let syntax = CommandError("ERR syntax error")
    static let notAnInteger = CommandError("ERR value is not an integer or out of range")
    static let hashValueNotAnInteger = CommandError("ERR hash value is not an integer")
    static let overflow = CommandError("ERR increment or decrement would overflow")
    static let notAFloat = CommandError("ERR value is not a valid float")
    static let noFloatRange = CommandError("ERR min or max is not a float")
    static let noSuchKey = CommandError("ERR no such key")
    static let invalidCursor = CommandError("ERR invalid cursor")
    static let invalidStreamID = CommandError("ERR Invalid stream ID specified as stream command argument")
    static let streamIDTooSmall = CommandError(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item")
    static let noScript = CommandError("NOSCRIPT No matching script. Please use EVAL.")
    static let nestedScript = CommandError("ERR This Redis command is not allowed from script")
    static let unknownInScript = CommandError("ERR Unknown Redis command called from script")
    static let arityInScript = CommandError("ERR Wrong number of args calling Redis command from script")
    static let negativeKeys = CommandError("ERR Number of keys can't be negative")
    static let tooManyKeys = CommandError("ERR Number of keys can't be greater than number of args")
    static let tooLong = CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")

    static func arity(_ name: String) -> CommandError {
        CommandError("ERR wrong number of arguments for '\(name.lowercased())' command")
    }

    static func expireTime(_ name: String) -> CommandError {
        CommandError("ERR invalid expire time in '\(name.lowercased())' command")
    }

    static func unknown(_ words: [[UInt8]]) -> CommandError {
        let name = String(decoding: (words.first ?? []).prefix(128), as: UTF8.self)
        let rest = words.dropFirst().prefix(8).map { "'\(String(decoding: $0.prefix(64), as: UTF8.self))' " }
        return CommandError("ERR unknown command '\(name)', with args beginning with: \(rest.joined())")
    }
}

/// What keeps a command from being carried out: the command itself, or the file.
enum KeySpaceFailure: Error, Sendable {
    case command(CommandError)
    case file(StoreFileFailure)
}
