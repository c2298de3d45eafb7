/// What Redis replied, copied out of the connection's buffers.
package enum RedisReply: Sendable, Hashable {
    case null
    case integer(Int64)
    case status(String)
    case bulk([UInt8])
    case error(String)
    case array([RedisReply])

    package var isNull: Bool { self == .null }

    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    package var bytes: [UInt8]? {
        if case .bulk(let value) = self { value } else { nil }
    }

    /// Bulk strings that are not UTF-8 are repaired.
    package var string: String? {
        switch self {
        case .status(let value): value
        case .bulk(let value): String(decoding: value, as: UTF8.self)
        default: nil
        }
    }

    package var array: [RedisReply]? {
        if case .array(let value) = self { value } else { nil }
    }
}
