/// What XREAD asks for.
struct StreamRequest {
    var names: [[UInt8]] = []
    /// Nil for the end of the stream at the time of the request.
    var positions: [StreamID?] = []
    /// At most so many entries of each stream; -1 for all.
    var count: Int64 = -1
    /// How long it may wait for the first; zero for ever, nil not at all.
    var patience: Duration?

    init(_ arguments: [[UInt8]]) throws(KeySpaceFailure) {
        var rest = arguments[...]
        options: while true {
            guard let option = rest.popFirst() else { throw .command(.syntax) }
            switch KeySpace.word(option) {
            case "COUNT":
                guard let word = rest.popFirst(), let count = KeySpace.integer(word) else {
                    throw .command(.notAnInteger)
                }
                self.count = count > 0 ? count : -1
            case "BLOCK":
                guard let word = rest.popFirst(), let milliseconds = KeySpace.integer(word), milliseconds >= 0 else {
                    throw .command(.notAnInteger)
                }
                patience = .milliseconds(min(milliseconds, 86_400_000))
            case "STREAMS": break options
            default: throw .command(.syntax)
            }
        }
        guard !rest.isEmpty, rest.count % 2 == 0 else {
            throw .command(
                CommandError(
                    "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."))
        }
        names = Array(rest.prefix(rest.count / 2))
        for word in rest.dropFirst(names.count) {
            if word == [UInt8(ascii: "$")] {
                positions.append(Optional<StreamID>.none)
            } else if let position = StreamID(word) {
                positions.append(position)
            } else {
                throw .command(.invalidStreamID)
            }
        }
    }

    /// As words of a command that does not wait.
    var words: [[UInt8]] {
        let count = count > 0 ? [Array("COUNT".utf8), Array("\(count)".utf8)] : []
        return [Array("XREAD".utf8)] + count + [Array("STREAMS".utf8)] + names
            + positions.map { $0?.bytes ?? [UInt8(ascii: "$")] }
    }
}
