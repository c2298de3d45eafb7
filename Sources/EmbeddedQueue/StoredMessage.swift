package import Broker
internal import Time

/// A message as it lies in the queue's file: texts and the body, each with its length before it.
///
/// A byte for the format, then message id, type, content type, time, number of headers, each one's name and value, body.
/// What is not there has the length 2³² - 1.
package enum StoredMessage {
    private static let format: UInt8 = 1

    package static func encode(_ message: BrokerMessage) -> [UInt8] {
        var bytes = [format]
        for text in [message.messageID, message.type, message.contentType, message.timestamp?.rfc3339] {
            append(text.map { Array($0.utf8) }, to: &bytes)
        }
        append(UInt32(clamping: message.headers.count), to: &bytes)
        for (name, value) in message.headers.sorted(by: { $0.key < $1.key }) {
            append(Array(name.utf8), to: &bytes)
            append(Array(value.utf8), to: &bytes)
        }
        append(message.body, to: &bytes)
        return bytes
    }

    /// Nil for what this version did not write.
    package static func decode(_ bytes: [UInt8]) -> BrokerMessage? {
        var rest = bytes[...]
        guard rest.popFirst() == format else { return nil }
        var texts: [String?] = []
        for _ in 0..<4 {
            guard let field = field(&rest) else { return nil }
            texts.append(field.map { String(decoding: $0, as: UTF8.self) })
        }
        guard let count = number(&rest) else { return nil }
        var headers: [String: String] = [:]
        for _ in 0..<count {
            guard let name = field(&rest) ?? nil, let value = field(&rest) ?? nil else { return nil }
            headers[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        guard let body = field(&rest) ?? nil, rest.isEmpty else { return nil }
        return BrokerMessage(
            body: body, headers: headers, messageID: texts[0], type: texts[1], contentType: texts[2],
            timestamp: texts[3].flatMap { Timestamp(rfc3339: $0) })
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        bytes += [
            UInt8(number >> 24), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255),
        ]
    }

    private static func append(_ field: [UInt8]?, to bytes: inout [UInt8]) {
        guard let field else { return append(.max, to: &bytes) }
        append(UInt32(clamping: field.count), to: &bytes)
        bytes += field
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
        guard rest.count >= 4 else { return nil }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Nil when it is cut off; a field that holds nil is one that is not there.
    private static func field(_ rest: inout ArraySlice<UInt8>) -> [UInt8]?? {
        guard let count = number(&rest) else { return nil }
        if count == .max { return .some(nil) }
        guard rest.count >= Int(count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return .some(Array(rest.prefix(Int(count))))
    }
}
