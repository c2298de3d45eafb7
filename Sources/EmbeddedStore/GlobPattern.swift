/// A pattern as KEYS and SCAN take them: `*`, `?`, `[abc]`, `[^a-z]` and `\x`.
struct GlobPattern {
    private enum Piece {
        case any
        case one
        case byte(UInt8)
        case set([ClosedRange<UInt8>], isNegated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .any, .one: true
            case .byte(let wanted): byte == wanted
            case .set(let ranges, let isNegated): ranges.contains { $0.contains(byte) } != isNegated
            }
        }
    }

    private var pieces: [Piece] = []

    init(_ pattern: [UInt8]) {
        var rest = pattern[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                if case .any? = pieces.last { continue }
                pieces.append(.any)
            case UInt8(ascii: "?"): pieces.append(.one)
            case UInt8(ascii: "["): pieces.append(Self.set(&rest))
            case UInt8(ascii: "\\"): pieces.append(.byte(rest.popFirst() ?? byte))
            default: pieces.append(.byte(byte))
            }
        }
    }

    private static func set(_ rest: inout ArraySlice<UInt8>) -> Piece {
        var ranges: [ClosedRange<UInt8>] = []
        let isNegated = rest.first == UInt8(ascii: "^")
        if isNegated { rest.removeFirst() }
        while let byte = rest.popFirst(), byte != UInt8(ascii: "]") {
            let low = byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte
            if rest.count >= 2, rest.first == UInt8(ascii: "-") {
                let high = rest[rest.startIndex + 1]
                rest.removeFirst(2)
                ranges.append(min(low, high)...max(low, high))
            } else {
                ranges.append(low...low)
            }
        }
        return .set(ranges, isNegated: isNegated)
    }

    /// Never takes longer than the lengths' product.
    func matches(_ text: [UInt8]) -> Bool {
        var (piece, place) = (0, 0)
        // Where to go on when the pieces behind the last `*` do not fit.
        var retry: (piece: Int, place: Int)?
        while place < text.count || piece < pieces.count {
            if piece < pieces.count, case .any = pieces[piece] {
                retry = (piece, place)
                piece += 1
            } else if piece < pieces.count, place < text.count, pieces[piece].matches(text[place]) {
                piece += 1
                place += 1
            } else if let last = retry, last.place < text.count {
                retry = (last.piece, last.place + 1)
                (piece, place) = (last.piece + 1, last.place + 1)
            } else {
                return false
            }
        }
        return true
    }
}
