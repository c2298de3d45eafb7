internal import Redis

/// The id of an entry in a change stream: what has been read up to there.
package struct StreamPosition: Comparable, Hashable, CustomStringConvertible, Sendable {
    package var milliseconds: UInt64 = 0
    package var sequence: UInt64 = 0

    package static let beginning = StreamPosition()

    package init() {}

    package init?(_ text: String) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
        self.milliseconds = milliseconds
        self.sequence = sequence
    }

    /// The last one that comes before it.
    var predecessor: StreamPosition {
        var before = self
        if sequence > 0 {
            before.sequence -= 1
        } else if milliseconds > 0 {
            (before.milliseconds, before.sequence) = (milliseconds - 1, .max)
        }
        return before
    }

    package static func < (a: StreamPosition, b: StreamPosition) -> Bool {
        (a.milliseconds, a.sequence) < (b.milliseconds, b.sequence)
    }

    package var description: String { "\(milliseconds)-\(sequence)" }
}

/// What a change stream holds at one moment.
struct StreamExtent: Sendable, Equatable {
    /// Nil when it is empty or not there.
    var first: StreamPosition?
    var last: StreamPosition?
    /// Whether it still holds all that was ever added to it.
    var isWhole = true

    /// Reads the reply to XINFO STREAM; an error reply means that there is no such stream.
    init(_ reply: RedisReply?) {
        let fields = reply?.array ?? []
        var length: Int64 = 0
        var added: Int64?
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            let value = fields[pair + 1]
            switch fields[pair].string {
            case "length": length = value.integer ?? 0
            case "entries-added": added = value.integer
            case "first-entry": first = value.array?.first?.string.flatMap { StreamPosition($0) }
            case "last-generated-id": last = value.string.flatMap { StreamPosition($0) }
            default: break
            }
        }
        // Before Redis 7 nobody counts; then it must be assumed that some are gone.
        isWhole = fields.isEmpty || added == length
    }

    enum Continuity: Sendable {
        /// Nothing after the position was lost to the reader.
        case unbroken
        /// The stream no longer holds all that came after the position.
        case trimmed
        /// The position is beyond the stream's end, or its entry is not there though older ones are: it is another stream,
        /// or one that lost what was read from it.
        case wentBack
    }

    /// - Parameter isThere: Whether the entry at the position was there a moment before the stream was looked at.
    func continuity(from position: StreamPosition, isThere: Bool = true) -> Continuity {
        if position > last ?? .beginning { return .wentBack }
        if !isThere, position > .beginning, let first, first <= position { return .wentBack }
        if isWhole || position == last { return .unbroken }
        guard let first else { return .trimmed }
        return first <= position ? .unbroken : .trimmed
    }
}
