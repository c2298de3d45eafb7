/// Reads the payload of a receipt, element by element.
///
/// OpenSSL reads the CMS message around it; the payload's grammar is three elements deep and fixed, and reading that in
/// Swift is memory-safe and builds no tree. Nothing here recurses, and no length is believed before it was compared with
/// what is there. Lengths may be long or indefinite, as BER allows and Xcode writes them.
struct BERReader {
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// The whole of it, tag and length included.
        let whole: ArraySlice<UInt8>
    }

    enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let octets: UInt8 = 0x04
        static let constructedOctets: UInt8 = 0x24
        static let utf8: UInt8 = 0x0C
        static let printable: UInt8 = 0x13
        static let ascii: UInt8 = 0x16
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next element, or nil if what follows is none.
    mutating func next() -> Element? {
        let start = rest
        guard let head = Self.head(of: rest) else { return nil }
        let body = rest.dropFirst(head.size)
        if let length = head.length {
            guard length <= body.count else { return nil }
            rest = body.dropFirst(length)
            return Element(
                tag: head.tag, content: body.prefix(length), whole: start.prefix(head.size &+ length))
        }
        guard let end = Self.endOfContents(in: body) else { return nil }
        rest = body[end...].dropFirst(2)
        return Element(tag: head.tag, content: body[..<end], whole: start[..<rest.startIndex])
    }

    private struct Head {
        let tag: UInt8
        /// Bytes of tag and length.
        let size: Int
        /// Nil for the indefinite form.
        let length: Int?
    }

    private static func head(of bytes: ArraySlice<UInt8>) -> Head? {
        let start = bytes.startIndex
        // Receipts have no tags beyond the one-byte ones.
        guard bytes.count >= 2, bytes[start] & 0x1F != 0x1F else { return nil }
        let tag = bytes[start]
        let first = bytes[start &+ 1]
        if first < 0x80 { return Head(tag: tag, size: 2, length: Int(first)) }
        if first == 0x80 {
            // Only what is constructed may end with a marker.
            return tag & 0x20 == 0 ? nil : Head(tag: tag, size: 2, length: nil)
        }
        let count = Int(first & 0x7F)
        guard count <= 4, bytes.count >= 2 &+ count else { return nil }
        let length = bytes[(start &+ 2)..<(start &+ 2 &+ count)].reduce(0) { $0 << 8 | Int($1) }
        return Head(tag: tag, size: 2 &+ count, length: length)
    }

    /// Where the marker is that ends the indefinite element which `bytes` begin within.
    private static func endOfContents(in bytes: ArraySlice<UInt8>) -> Int? {
        var open = 1
        var rest = bytes
        while rest.count >= 2 {
            if rest[rest.startIndex] == 0, rest[rest.startIndex &+ 1] == 0 {
                open &-= 1
                if open == 0 { return rest.startIndex }
                rest = rest.dropFirst(2)
                continue
            }
            guard let head = head(of: rest) else { return nil }
            rest = rest.dropFirst(head.size)
            guard let length = head.length else {
                open &+= 1
                continue
            }
            guard length <= rest.count else { return nil }
            rest = rest.dropFirst(length)
        }
        return nil
    }
}

extension BERReader.Element {
    /// The bytes of an octet string, put together where it comes in pieces.
    var octets: ArraySlice<UInt8>? {
        if tag == BERReader.Tag.octets { return content }
        guard tag == BERReader.Tag.constructedOctets else { return nil }
        var joined: [UInt8] = []
        var reader = BERReader(content)
        while !reader.isAtEnd {
            // Pieces in pieces are allowed by BER and written by nobody.
            guard let piece = reader.next(), piece.tag == BERReader.Tag.octets else { return nil }
            joined += piece.content
        }
        return joined[...]
    }

    var integer: Int64? {
        guard tag == BERReader.Tag.integer, let first = content.first, content.count <= 8 else { return nil }
        return content.reduce(first >= 0x80 ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    var text: String? {
        let texts = [BERReader.Tag.utf8, BERReader.Tag.ascii, BERReader.Tag.printable]
        return texts.contains(tag) ? String(validating: content, as: UTF8.self) : nil
    }
}
