/// What the protocol can carry beside a body. A message from elsewhere can exceed it once its text has been mended, and
/// sent all the same it costs the connection, again at every try.
enum WireLimits {
    /// A name or an id has its length in one byte.
    static let shortText = 255
    /// Properties and headers travel in one frame, of 128 KiB at most by RabbitMQ's default.
    static let headers = 96 << 10

    /// As much of the text as can be a name or an id.
    static func short(_ text: String) -> String { cut(text, to: shortText) }

    /// The headers to send: those that find room, the smallest first.
    static func fitting(_ headers: [String: String]) -> [(name: String, value: String)] {
        let all = headers.map { (name: short($0.key), value: $0.value) }
        guard size(all) > Self.headers else { return all }
        return fitting(all.sorted { (cost($0), $0.name) < (cost($1), $1.name) }, in: Self.headers)
    }

    /// The headers to take from a message: all, or if they are far too many as many as leave room for what is added
    /// when the message is sent on, and for that to be taken in whole.
    static func received(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        size(headers) > 64 << 10 ? fitting(headers, in: 48 << 10) : headers
    }

    private static func fitting(
        _ headers: [(name: String, value: String)], in room: Int
    ) -> [(name: String, value: String)] {
        var room = room
        return headers.filter { header in
            let cost = cost(header)
            guard cost <= room else { return false }
            room -= cost
            return true
        }
    }

    private static func size(_ headers: [(name: String, value: String)]) -> Int {
        headers.reduce(0) { $0 + cost($1) }
    }

    /// The bytes that a header takes: two lengths and a type besides its texts.
    private static func cost(_ header: (name: String, value: String)) -> Int {
        header.name.utf8.count + header.value.utf8.count + 6
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        // Not within a letter's bytes.
        while end > text.startIndex, text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }
}
