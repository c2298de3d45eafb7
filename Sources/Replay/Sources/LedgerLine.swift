internal import AppStore
internal import Broker
internal import Consumer
internal import JSON
internal import Time

/// A message as a line of JSON: what `holdfast replay --export` writes.
///
/// | member | what |
/// |---|---|
/// | `offset` | where it stands in the ledger |
/// | `app`, `environment`, `receivedAt` | whose it is and when it came; the headers of those names |
/// | `headers` | all other headers |
/// | `messageId`, `type`, `contentType`, `timestamp` | its properties, where it has them |
/// | `body`, or `bodyBase64` | the body, byte by byte; in base64 when it is not UTF-8 |
///
/// A line may also be a body by itself, `{"signedPayload":"…"}`, or a bare JWS; the app is then the one that is named for
/// the whole file.
package enum LedgerLine {
    /// The members that stand for headers of other names.
    private static let named = [
        ("app", MessageHeader.app), ("environment", MessageHeader.environment),
        ("receivedAt", MessageHeader.receivedAt),
    ]

    package static func encode(_ message: LedgerMessage) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: message.message.body.count + 512)
        json.beginObject()
        if case .offset(let offset) = message.place { json.member("offset", offset) }
        var headers = message.message.headers
        for (member, header) in named {
            if let value = headers.removeValue(forKey: header) { json.member(member, value) }
        }
        if !headers.isEmpty {
            json.object("headers") { json in
                for (name, value) in headers.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
            }
        }
        if let id = message.message.messageID { json.member("messageId", id) }
        if let type = message.message.type { json.member("type", type) }
        if let type = message.message.contentType { json.member("contentType", type) }
        if let instant = message.message.timestamp { json.member("timestamp", instant.rfc3339) }
        if let text = String(validating: message.message.body, as: UTF8.self) {
            json.member("body", text)
        } else {
            json.member("bodyBase64", Base64.encode(message.message.body))
        }
        json.endObject()
        return json.bytes
    }

    /// Reads a line; `app` is whose a body is that stands by itself. Throws a sentence that says what is wrong.
    package static func decode(
        _ line: [UInt8], app: String?, at place: LedgerMessage.Place
    ) throws(ReplayError) -> LedgerMessage {
        let first = line.first { ![0x20, 0x09, 0x0D].contains($0) }
        guard first == UInt8(ascii: "{") else {
            // Three parts between two dots; whether they are sound is the decoder's to say.
            guard line.count(where: { $0 == UInt8(ascii: ".") }) == 2 else {
                throw .file("\(place): neither a JSON object nor a compact JWS")
            }
            let text = String(decoding: line, as: UTF8.self).filter { !$0.isWhitespace }
            return try bare(SignedBody.body(signedPayload: text), app, place)
        }
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(line) } catch {
            throw .file("\(place): \(error)")
        }
        if value["signedPayload"] != nil { return try bare(line, app, place) }
        let body: [UInt8]
        if let text = value["body"]?.string {
            body = Array(text.utf8)
        } else if let text = value["bodyBase64"]?.string, let bytes = Base64.decode(text) {
            body = bytes
        } else {
            throw .file("\(place): no body, no bodyBase64 and no signedPayload in it")
        }
        var message = BrokerMessage(
            body: body, messageID: value["messageId"]?.string, type: value["type"]?.string,
            contentType: value["contentType"]?.string,
            timestamp: value["timestamp"]?.string.flatMap { Timestamp(rfc3339: $0) })
        for member in value["headers"]?.object?.members ?? [] { message.headers[member.key] = member.value.string }
        for (member, header) in named { if let text = value[member]?.string { message.headers[header] = text } }
        if message.headers[MessageHeader.app] == nil { message.headers[MessageHeader.app] = app }
        return LedgerMessage(message, at: offset(value) ?? place)
    }

    private static func offset(_ value: JSONValue) -> LedgerMessage.Place? {
        value["offset"]?.int64.map { .offset($0) }
    }

    private static func bare(
        _ body: [UInt8], _ app: String?, _ place: LedgerMessage.Place
    ) throws(ReplayError) -> LedgerMessage {
        guard let app else { throw .file("\(place): a body by itself says nothing of its app; name it with --app") }
        return LedgerMessage(BrokerMessage(body: body, headers: [MessageHeader.app: app]), at: place)
    }
}
