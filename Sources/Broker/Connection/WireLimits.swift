/// What the protocol can carry beside a body. A message from elsewhere can exceed it once its text has been mended, and
/// sent all the same it costs the connection, again at every try.
enum WireLimits {
    /// A name or an id has its length in one byte.
    static let shortText = 255
    /// Properties and headers travel in one frame, of 128 KiB at most by RabbitMQ's default.
    static let headers = 96 << 10

    /// As much of the text as can be a name or an id.
    static func short(_ text: String) -> String { cut(text, to: shortText) }

    /// The headers that find room, the smallest first: what a message is known by is short, and junk is long.
    static func fitting(_ headers: [String: String]) -> [(name: String, value: String)] {
        func cost(_ header: (key: String, value: String)) -> Int {
            // Two lengths and a type.
            min(header.key.utf8.count, shortText) + header.value.utf8.count + 6
        }
        var room = Self.headers
        if headers.reduce(0, { $0 + cost($1) }) <= room { return headers.map { (short($0.key), $0.value) } }
        return headers.sorted { (cost($0), $0.key) < (cost($1), $1.key) }.prefix { header in
            room -= cost(header)
            return room >= 0
        }.map { (short($0.key), $0.value) }
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        // Not within a letter's bytes.
        while end > text.startIndex, text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }
}
