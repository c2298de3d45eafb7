/// What is kept: a body as it came, and what the gateway knew about it.
package struct SpoolRecord: Sendable, Hashable {
    package var attributes: [String: String]
    package var body: [UInt8]

    package init(attributes: [String: String] = [:], body: [UInt8]) {
        self.attributes = attributes
        self.body = body
    }
}

/// A record with its place in the line. Sequences only grow; gaps mean records that were never acknowledged or are lost.
package struct SpoolEntry: Sendable, Hashable {
    package let sequence: UInt64
    package let record: SpoolRecord
}

extension SpoolRecord {
    /// Name and value of each attribute, each behind its length, in the order of the names.
    func encodedAttributes() -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            for text in [name, value] {
                bytes.appendLittleEndian(UInt32(clamping: text.utf8.count))
                bytes.append(contentsOf: text.utf8)
            }
        }
        return bytes
    }

    /// Nil when the bytes are not what `encodedAttributes` writes.
    static func attributes(decoding bytes: ArraySlice<UInt8>) -> [String: String]? {
        var rest = bytes
        func text() -> String? {
            guard rest.count >= 4 else { return nil }
            let count = Int(rest.littleEndian(UInt32.self, at: 0))
            rest = rest.dropFirst(4)
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return String(validating: rest.prefix(count), as: UTF8.self)
        }
        var attributes: [String: String] = [:]
        while !rest.isEmpty {
            guard let name = text(), let value = text() else { return nil }
            attributes[name] = value
        }
        return attributes
    }
}
