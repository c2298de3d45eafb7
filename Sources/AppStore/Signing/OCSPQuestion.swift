/// What an OCSP request asks, as a responder needs it: the certificates' names as they stand, and the nonce.
package struct OCSPQuestion: Sendable {
    /// CertID values in DER; an answer repeats them byte for byte.
    package let certificates: [[UInt8]]
    /// The value of the nonce extension, as it stands.
    package let nonce: [UInt8]?

    package init?(der: [UInt8]) {
        var whole = Elements(der[...])
        guard let request = whole.next(0x30), whole.isAtEnd else { return nil }
        var outer = Elements(request.content)
        guard let asked = outer.next(0x30) else { return nil }
        var parts = Elements(asked.content)
        var list: Elements.Element?
        var extensions: Elements.Element?
        while let part = parts.next() {
            switch part.tag {
            case 0x30: list = part
            case 0xA2: extensions = part
            default: continue
            }
        }
        guard let list else { return nil }
        var certificates: [[UInt8]] = []
        var questions = Elements(list.content)
        while let question = questions.next(0x30) {
            var parts = Elements(question.content)
            guard let name = parts.next(0x30) else { return nil }
            certificates.append(Array(name.whole))
        }
        self.certificates = certificates
        nonce = extensions.flatMap { Self.nonce(in: $0.content) }
    }

    /// The serial number that a CertID ends with, big-endian.
    package static func serial(of certificate: [UInt8]) -> [UInt8]? {
        var outer = Elements(certificate[...])
        guard let name = outer.next(0x30) else { return nil }
        var parts = Elements(name.content)
        var last: Elements.Element?
        while let part = parts.next() { last = part }
        guard let last, last.tag == 0x02 else { return nil }
        return Array(last.content)
    }

    private static func nonce(in extensions: ArraySlice<UInt8>) -> [UInt8]? {
        let identifier = DER.objectIdentifier([1, 3, 6, 1, 5, 5, 7, 48, 1, 2])
        var outer = Elements(extensions)
        guard let list = outer.next(0x30) else { return nil }
        var items = Elements(list.content)
        while let item = items.next(0x30) {
            guard item.content.starts(with: identifier) else { continue }
            var parts = Elements(item.content)
            while let part = parts.next() {
                if part.tag == 0x04 { return Array(part.content) }
            }
        }
        return nil
    }
}

/// Walks over values of DER that stand one after the other; ends where it is no DER.
private struct Elements {
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// With tag and length.
        let whole: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next value; nil at the end, or unless it has this tag.
    mutating func next(_ tag: UInt8? = nil) -> Element? {
        guard rest.count >= 2, let found = rest.first, tag == nil || found == tag else { return nil }
        let first = rest[rest.startIndex &+ 1]
        let lengthBytes = first < 0x80 ? 0 : Int(first & 0x7F)
        guard first != 0x80, lengthBytes <= 3, rest.count >= 2 &+ lengthBytes else { return nil }
        let digits = rest.dropFirst(2).prefix(lengthBytes)
        let length = first < 0x80 ? Int(first) : digits.reduce(0) { $0 << 8 | Int($1) }
        let header = 2 &+ lengthBytes
        guard rest.count &- header >= length else { return nil }
        let whole = rest.prefix(header &+ length)
        rest = rest.dropFirst(header &+ length)
        return Element(tag: found, content: whole.dropFirst(header), whole: whole)
    }
}
