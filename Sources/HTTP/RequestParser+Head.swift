/// Fields that may come once only: two of them would mean two things to two readers.
struct SeenFields: OptionSet, Sendable {
    let rawValue: UInt16
    static let host = SeenFields(rawValue: 1 << 0)
    static let contentLength = SeenFields(rawValue: 1 << 1)
    static let transferEncoding = SeenFields(rawValue: 1 << 2)
    static let authorization = SeenFields(rawValue: 1 << 3)
    static let expect = SeenFields(rawValue: 1 << 4)
    static let isChunked = SeenFields(rawValue: 1 << 6)
    static let saysClose = SeenFields(rawValue: 1 << 7)
    static let saysKeepAlive = SeenFields(rawValue: 1 << 8)
}

extension RequestParser {
    /// `METHOD SP target SP HTTP/1.x`, with one blank between and none at the ends.
    mutating func parseRequestLine(_ line: Range<Int>) throws(Refusal) {
        let buffer = buffer
        let bytes = buffer.span
        let methods = ByteSet.method
        var index = line.lowerBound
        while index < line.upperBound, methods.contains(bytes[index]) { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, bytes[index] == .blank else { throw .method }
        let method = line.lowerBound..<index

        let targetStart = index + 1
        index = targetStart
        while index < line.upperBound, bytes[index] != .blank { index += 1 }
        let target = try Self.parseTarget(bytes, targetStart..<index)
        guard index < line.upperBound else { throw .requestLine }

        let isHTTP10 = try Self.parseVersion(bytes, (index + 1)..<line.upperBound)
        traits.isHTTP10 = isHTTP10
        traits.keepsAlive = !isHTTP10
        head = HTTPRequestHead(
            method: String(decoding: buffer[method], as: UTF8.self),
            path: target.path.isEmpty ? "/" : String(decoding: buffer[target.path], as: UTF8.self),
            query: target.query.map { String(decoding: buffer[$0], as: UTF8.self) },
            peer: peer)
        traits.isHead = head.method == "HEAD"
    }

    /// Whether it is HTTP/1.0. A minor version of one digit beyond 1 counts as 1.1 (RFC 9110 2.5).
    private static func parseVersion(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
    ) throws(Refusal) -> Bool {
        guard range.count >= 8, equals(bytes, range.lowerBound..<(range.lowerBound + 5), "http/"),
            bytes[range.lowerBound] == UInt8(ascii: "H"), bytes[range.lowerBound + 1] == UInt8(ascii: "T"),
            bytes[range.lowerBound + 2] == UInt8(ascii: "T"), bytes[range.lowerBound + 3] == UInt8(ascii: "P")
        else { throw .requestLine }
        let major = range.lowerBound + 5
        guard bytes[major].isDigit, bytes[major] != UInt8(ascii: "0") else { throw .requestLine }
        if bytes[major] != UInt8(ascii: "1") || bytes[major + 1].isDigit { throw .version }
        guard range.count == 8, bytes[major + 1] == UInt8(ascii: "."), bytes[major + 2].isDigit else {
            throw .requestLine
        }
        return bytes[major + 2] == UInt8(ascii: "0")
    }

    /// One `name: value`; blanks and tabs around the value are not part of it.
    private func splitField(_ line: Range<Int>) throws(Refusal) -> (name: Range<Int>, value: Range<Int>) {
        let bytes = buffer.span
        if bytes[line.lowerBound] == .blank || bytes[line.lowerBound] == .tab { throw .foldedField }
        let tokens = ByteSet.token
        var colon = line.lowerBound
        while colon < line.upperBound, tokens.contains(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else { throw .field }
        var start = colon + 1
        var end = line.upperBound
        while start < end, bytes[start] == .blank || bytes[start] == .tab { start += 1 }
        while end > start, bytes[end - 1] == .blank || bytes[end - 1] == .tab { end -= 1 }
        var index = start
        while index < end {
            let byte = bytes[index]
            guard byte >= .blank && byte != 127 || byte == .tab else { throw .field }
            index += 1
        }
        return (line.lowerBound..<colon, start..<end)
    }

    /// Judges a trailer; nothing here needs its content.
    func checkTrailer(_ line: Range<Int>) throws(Refusal) { _ = try splitField(line) }

    mutating func parseField(_ line: Range<Int>) throws(Refusal) {
        let (name, value) = try splitField(line)
        guard head.headers.count < limits.headerCount else { throw .headerTooLarge }
        try note(name, value)
        head.headers.append(checked: buffer, name: name, value: value)
    }

    /// Keeps what the core itself must know of a field.
    private mutating func note(_ name: Range<Int>, _ value: Range<Int>) throws(Refusal) {
        let buffer = buffer
        let bytes = buffer.span
        switch name.count {
        case 4 where Self.equals(bytes, name, "host"):
            try once(.host, .duplicateHost)
            let hosts = ByteSet.host
            guard !value.isEmpty, value.allSatisfy({ hosts.contains(buffer[$0]) }) else { throw .host }
        case 6 where Self.equals(bytes, name, "expect"):
            try once(.expect, .field)
            traits.expectsContinue = Self.equals(bytes, value, "100-continue")
        case 10 where Self.equals(bytes, name, "connection"):
            for token in buffer[value].split(separator: UInt8(ascii: ",")) {
                let token = String(decoding: token, as: UTF8.self).trimmed
                if token.isEqualIgnoringCase(to: "close") { seen.insert(.saysClose) }
                if token.isEqualIgnoringCase(to: "keep-alive") { seen.insert(.saysKeepAlive) }
            }
        case 13 where Self.equals(bytes, name, "authorization"):
            try once(.authorization, .field)
        case 14 where Self.equals(bytes, name, "content-length"):
            try once(.contentLength, .duplicateLength)
            guard let length = Self.decimal(bytes, value) else { throw .contentLength }
            traits.framing = .length(length)
        case 17 where Self.equals(bytes, name, "transfer-encoding"):
            try once(.transferEncoding, .duplicateEncoding)
            if Self.equals(bytes, value, "chunked") { seen.insert(.isChunked) }
        default: break
        }
    }

    private mutating func once(_ field: SeenFields, _ refusal: Refusal) throws(Refusal) {
        guard seen.insert(field).inserted else { throw refusal }
    }

    /// What can be judged only when all fields are known, in nginx's order.
    mutating func finishHead() throws(Refusal) {
        guard seen.contains(.host) || traits.isHTTP10 else { throw .noHost }
        if head.method == "CONNECT" || head.method == "TRACE" { throw .methodNotAllowed }
        if seen.contains(.transferEncoding) {
            if traits.isHTTP10 { throw .encodingTooOld }
            guard seen.contains(.isChunked) else { throw .transferEncoding }
            if seen.contains(.contentLength) { throw .ambiguousLength }
            traits.framing = .chunked
        }
        if seen.contains(.saysKeepAlive) { traits.keepsAlive = true }
        if seen.contains(.saysClose) { traits.keepsAlive = false }
        if traits.isHTTP10 || traits.framing == .none { traits.expectsContinue = false }
    }

    /// Digits and nothing else, or nil, also for what no body can be.
    private static func decimal(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        var number = 0
        for index in range {
            guard bytes[index].isDigit else { return nil }
            let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(Int(bytes[index] - 48))
            if overflow || carry { return nil }
            number = sum
        }
        return number
    }

    /// Without regard to case; `expected` is in lower case.
    static func equals(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ expected: StaticString) -> Bool {
        guard range.count == expected.utf8CodeUnitCount else { return false }
        let start = unsafe expected.utf8Start
        for offset in 0..<range.count {
            if unsafe bytes[range.lowerBound + offset].lowercasedASCII != start[offset] { return false }
        }
        return true
    }
}
