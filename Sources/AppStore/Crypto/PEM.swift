/// The armour around DER: `-----BEGIN X-----`, base64 in lines of 64, `-----END X-----`.
package enum PEM {
    package static func encode(_ der: [UInt8], label: String) -> String {
        var rest = Base64.encode(der)[...]
        var lines = ["-----BEGIN \(label)-----"]
        while !rest.isEmpty {
            lines.append(String(rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        lines.append("-----END \(label)-----")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The DER of every block with that label, in order; nil if a block is broken. Text between blocks is ignored.
    package static func decode(_ text: String, label: String) -> [[UInt8]]? {
        var blocks: [[UInt8]] = []
        var open: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop(while: \.isWhitespace)
            if line.hasPrefix("-----BEGIN \(label)-----") {
                guard open == nil else { return nil }
                open = ""
            } else if line.hasPrefix("-----END \(label)-----") {
                guard let text = open, let der = Base64.decode(text) else { return nil }
                blocks.append(der)
                open = nil
            } else if open != nil {
                open?.append(contentsOf: line.filter { !$0.isWhitespace })
            }
        }
        return open == nil ? blocks : nil
    }
}
