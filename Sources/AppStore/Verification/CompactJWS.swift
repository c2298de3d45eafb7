internal import JSON

/// The three segments of a compact JWS, as they stand in the text; nothing is decoded or verified yet.
struct CompactJWS {
    let header: ArraySlice<UInt8>
    let payload: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>
    /// The header and the dot behind it.
    let beginning: ArraySlice<UInt8>
    /// What was signed: header, dot, payload.
    let signedPart: ArraySlice<UInt8>

    /// Nil unless there are exactly two dots, none of them at an end of the text.
    init?(_ text: ArraySlice<UInt8>) {
        let dot = UInt8(ascii: ".")
        guard let first = text.place(of: dot), let second = text[(first &+ 1)...].place(of: dot),
            text[(second &+ 1)...].place(of: dot) == nil
        else { return nil }
        header = text[..<first]
        payload = text[(first &+ 1)..<second]
        signature = text[(second &+ 1)...]
        beginning = text[...first]
        signedPart = text[..<second]
        guard !header.isEmpty, !payload.isEmpty, !signature.isEmpty else { return nil }
    }
}

/// What the header of a JWS says.
struct JWSHeader {
    var algorithm: String?
    /// Nil when absent or not a list of texts.
    var x5c: [String]?
    /// Whether it lists parameters that must be understood (`crit`).
    var hasCriticalParameters = false

    init(_ json: [UInt8]) throws(JSONError) {
        var reader = JSONReader(json, maximumDepth: 8)
        var header = (algorithm: String?.none, x5c: [String]?.none, isCritical: false)
        try reader.readObject { (reader, key) throws(JSONError) in
            switch key {
            case "alg" where try reader.peek() == .string: header.algorithm = try reader.readString()
            case "x5c" where try reader.peek() == .array:
                var texts: [String] = []
                var isListOfTexts = true
                try reader.readArray { (reader) throws(JSONError) in
                    if try reader.peek() == .string {
                        texts.append(try reader.readString())
                    } else {
                        isListOfTexts = false
                        try reader.skip()
                    }
                }
                header.x5c = isListOfTexts ? texts : nil
            case "crit":
                header.isCritical = true
                try reader.skip()
            default: try reader.skip()
            }
        }
        try reader.finish()
        (algorithm, x5c, hasCriticalParameters) = header
    }
}
