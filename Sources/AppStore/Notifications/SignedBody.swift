internal import Glibc
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

    /// The payload if the body is that one member and its text has no escape; every other character that could give
    /// JSON another reading is refused when the payload is decoded.
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
        guard let end = body[start...].place(of: UInt8(ascii: "\"")),
            body[start..<end].place(of: UInt8(ascii: "\\")) == nil
        else { return nil }
        index = end + 1
        guard skip(UInt8(ascii: "}")) else { return nil }
        skipSpace()
        return index == body.count ? body[start..<end] : nil
    }
}

extension ArraySlice<UInt8> {
    /// Where `byte` stands first: `firstIndex(of:)` at the speed of the C library, for texts of many kilobytes.
    func place(of byte: UInt8) -> Int? {
        unsafe withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress,
                let found = unsafe memchr(base, Int32(byte), bytes.count)
            else { return nil }
            return unsafe startIndex + (UnsafeRawPointer(found) - base)
        }
    }
}
