internal import JSON

/// Tells apart what people send as receipts, and says of what is none what it is and where it belongs.
enum ReceiptText {
    /// The largest receipts known have some thousand purchases and 3 MB.
    static let limit = 4 << 20

    enum Found {
        /// Bytes that begin as a CMS message does.
        case container([UInt8])
        /// The text of a receipt in the style of iOS 6.
        case transactionReceipt([UInt8])
    }

    static func read(_ input: [UInt8]) throws(ReceiptFailure) -> Found {
        guard input.count <= limit / 3 * 4 + 4096 else {
            throw ReceiptFailure(.tooLarge, "it has \(input.count) bytes; no receipt is as large")
        }
        // A receipt's file as it lies on a device. (Base64 that began with the same byte, a 0, would be no receipt.)
        if input.count > 1, input[0] == 0x30, !isText(input.prefix(16)) { return .container(input) }
        // Line breaks get into base64 on its way; blanks only around it.
        var text = input.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        while text.last == 0x20 { text.removeLast() }
        text = Array(text.drop { $0 == 0x20 || $0 == UInt8(ascii: "\"") })
        if text.last == UInt8(ascii: "\"") { text.removeLast() }
        guard !text.isEmpty else { throw ReceiptFailure(.empty, "it is empty") }
        if text.starts(with: "{".utf8) { return try braces(input) }
        if text.starts(with: "eyJ".utf8) { throw jws(text) }
        if text.starts(with: "-----BEGIN".utf8) {
            throw ReceiptFailure(.notBase64, "it is PEM; a receipt is base64 without the lines around it")
        }
        guard let bytes = Base64.decode(text[...]) else { throw notBase64(text) }
        return try decoded(bytes)
    }

    private static func decoded(_ bytes: [UInt8]) throws(ReceiptFailure) -> Found {
        if bytes.first == 0x30, !isText(bytes.prefix(16)) { return .container(bytes) }
        if bytes.starts(with: "{".utf8) { return try braces(bytes) }
        if bytes.starts(with: "eyJ".utf8) { throw jws(bytes) }
        // The base64 of base64 of what begins with 30 80 or 30 82, or with a brace.
        if ["MII", "MIA", "ewo", "eyA", "ewk"].contains(where: { bytes.starts(with: $0.utf8) }) {
            throw ReceiptFailure(
                .doublyEncoded, "it was encoded in base64 twice; send what its first decoding gives")
        }
        throw ReceiptFailure(
            .notAReceipt, "it is base64, but not of a receipt: that begins with MII or MIA (or ewo, a transaction's)")
    }

    /// An old property list or JSON.
    private static func braces(_ text: [UInt8]) throws(ReceiptFailure) -> Found {
        guard let value = try? JSONValue.parse(text) else {
            if text.firstRange(of: Array("\"purchase-info\"".utf8)) != nil { return .transactionReceipt(text) }
            throw ReceiptFailure(.notAReceipt, "it begins like a transaction receipt, but has no purchase-info")
        }
        if value["signedPayload"] != nil {
            throw ReceiptFailure(.json, "it is a notification of the App Store, not a receipt: see holdfast verify")
        }
        let field = ["receipt-data", "receipt", "latest_receipt"].first { value[$0]?.string != nil }
        throw ReceiptFailure(
            .json, "it is JSON, not a receipt" + (field.map { "; the receipt is the text in its field \($0)" } ?? ""))
    }

    private static func jws(_ text: [UInt8]) -> ReceiptFailure {
        var kind = "a JWS"
        if let jws = CompactJWS(text[...]), let payload = Base64URL.decode(jws.payload),
            let found = PayloadKind(ofJSON: payload)
        {
            kind = "the JWS of \(found.phrase)"
        }
        return ReceiptFailure(.jws, "it is \(kind), not a receipt: StoreKit 2 signs those; see holdfast verify")
    }

    private static func notBase64(_ text: [UInt8]) -> ReceiptFailure {
        func has(_ character: Character) -> Bool { character.asciiValue.map(text.contains) ?? false }
        // With one strange character there is one thing that was done to it; with any others it was never base64.
        func isBase64Beside(_ others: String) -> Bool { text.allSatisfy { isBase64($0) || others.utf8.contains($0) } }
        let hint =
            if !isText(text[...]) {
                "it has characters that base64 has not; if it is a receipt's file, it is damaged"
            } else if has("%"), isBase64Beside("%") {
                "it is still escaped as in a URL (%2B, %2F, %3D)"
            } else if has("-") || has("_"), isBase64Beside("-_") {
                "it is base64url, with - and _ in place of + and /"
            } else if has(" "), isBase64Beside(" ") {
                "it has blanks in it, which were + before a form was decoded"
            } else if text.allSatisfy(isBase64) {
                "its length is no multiple of four: something is cut off, or the = at its end"
            } else {
                "it has characters that base64 has not"
            }
        return ReceiptFailure(.notBase64, "it is not base64: \(hint)")
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { 0x20..<0x7F ~= $0 || 9...13 ~= $0 }
    }
}
