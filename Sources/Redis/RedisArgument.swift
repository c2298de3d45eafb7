/// One argument of a command: binary-safe, never parsed.
package enum RedisArgument: Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral
{
    case text(String)
    case bytes([UInt8])

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .text(String(value)) }
    package init(_ value: String) { self = .text(value) }
    package init(_ value: [UInt8]) { self = .bytes(value) }
    package init(_ value: some BinaryInteger) { self = .text(String(value)) }

    func append(to buffer: inout [UInt8]) {
        switch self {
        case .text(let value): buffer.append(contentsOf: value.utf8)
        case .bytes(let value): buffer.append(contentsOf: value)
        }
    }
}
