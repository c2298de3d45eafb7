internal import JSON

/// The HTTP body of a notification: `{"signedPayload":"<compact JWS>"}`.
package enum SignedBody {
    /// The JWS of a body, as bytes; the usual form is recognised without reading it as JSON.
    package static func signedPayload(of body: [UInt8]) throws(VerificationFailure) -> ArraySlice<UInt8> {
        if let payload = plain(body) { return payload }
        var payload: String?
        var reader = JSONReader(body, maximumDepth: 16)
        do {
            try reader.readObject { (reader, key) throws(JSONError) in
                if key == "signedPayload", try reader.peek() == .string {
                    payload = try reader.readString()
                } else {
                    try reader.skip()
                }
            }
            try reader.finish()
        } catch {
            throw VerificationFailure(.malformed, .notification, "the body is not a JSON object: \(error)")
        }
        guard let payload else {
            throw VerificationFailure(.malformed, .notification, "the body has no text named signedPayload")
        }
        return Array(payload.utf8)[...]
    }

    /// The body that signing tools send.
    package static func body(signedPayload: String) -> [UInt8] {
        Array("{\"signedPayload\":\"\(signedPayload)\"}".utf8)
    }

    private static let name = Array("\"signedPayload\"".utf8)

    /// The payload if the body is that one member, its text of the characters of a JWS only: then nothing in it can
    /// be an escape, and JSON has no other reading.
    private static func plain(_ body: [UInt8]) -> ArraySlice<UInt8>? {
        var index = 0
        func skipSpace() {
            while index < body.count, [0x20, 0x09, 0x0A, 0x0D].contains(body[index]) { index += 1 }
        }
        func skip(_ byte: UInt8) -> Bool {
            skipSpace()
            guard index < body.count, body[index] == byte else { return false }
            index += 1
            return true
        }
        guard skip(UInt8(ascii: "{")) else { return nil }
        skipSpace()
        guard body[index...].starts(with: name) else { return nil }
        index += name.count
        guard skip(UInt8(ascii: ":")), skip(UInt8(ascii: "\"")) else { return nil }
        let start = index
        while index < body.count, isOfJWS[Int(body[index])] { index += 1 }
        let end = index
        guard index < body.count, body[index] == UInt8(ascii: "\"") else { return nil }
        index += 1
        guard skip(UInt8(ascii: "}")) else { return nil }
        skipSpace()
        return index == body.count ? body[start..<end] : nil
    }

    private static let isOfJWS: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        for byte in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8 { table[Int(byte)] = true }
        return table
    }()
}
