extension RequestParser {
    /// Splits a target into path and query. Two forms are taken: `/path?query` and `http://host/path?query`.
    ///
    /// The path keeps its percent sequences. Those that are no hexadecimal number, NUL, and `.` and `..` segments, also
    /// when written as `%2e`, are refused: no resource here has such a name, and proxies in front read them in
    /// different ways.
    static func parseTarget(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
    ) throws(Refusal) -> (path: Range<Int>, query: Range<Int>?) {
        guard !range.isEmpty else { throw .target }
        let start =
            bytes[range.lowerBound] == UInt8(ascii: "/") ? range.lowerBound : try endOfAuthority(bytes, range)
        var index = start
        let paths = ByteSet.path
        while index < range.upperBound, bytes[index] != UInt8(ascii: "?") {
            guard paths.contains(bytes[index]) else { throw .target }
            index += 1
        }
        let path = start..<index
        try checkPercentSequences(bytes, path)
        try checkSegments(bytes, path)
        guard index < range.upperBound else { return (path, nil) }
        let query = (index + 1)..<range.upperBound
        let queries = ByteSet.query
        for index in query where !queries.contains(bytes[index]) { throw .target }
        try checkPercentSequences(bytes, query)
        return (path, query)
    }

    /// Where the path of an absolute-form target begins.
    private static func endOfAuthority(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
    ) throws(Refusal) -> Int {
        let start = range.lowerBound
        let afterScheme: Int
        if range.count > 7, equals(bytes, start..<(start + 7), "http://") {
            afterScheme = start + 7
        } else if range.count > 8, equals(bytes, start..<(start + 8), "https://") {
            afterScheme = start + 8
        } else {
            throw .target
        }
        let hosts = ByteSet.host
        var index = afterScheme
        while index < range.upperBound, hosts.contains(bytes[index]) { index += 1 }
        guard index > afterScheme else { throw .target }
        if index < range.upperBound, bytes[index] != UInt8(ascii: "/"), bytes[index] != UInt8(ascii: "?") {
            throw .target
        }
        return index
    }

    private static func checkPercentSequences(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
    ) throws(Refusal) {
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == UInt8(ascii: "%") else {
                index += 1
                continue
            }
            guard index + 2 < range.upperBound, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue, high | low != 0
            else { throw .target }
            index += 3
        }
    }

    private static func checkSegments(_ bytes: borrowing Span<UInt8>, _ path: Range<Int>) throws(Refusal) {
        var dots = 0
        var others = 0
        var index = path.lowerBound
        while true {
            if index >= path.upperBound || bytes[index] == UInt8(ascii: "/") {
                if others == 0 && (dots == 1 || dots == 2) { throw .target }
                if index >= path.upperBound { return }
                dots = 0
                others = 0
            } else if bytes[index] == UInt8(ascii: ".") {
                dots += 1
            } else if bytes[index] == UInt8(ascii: "%"), bytes[index + 1] == UInt8(ascii: "2"),
                bytes[index + 2] | 32 == UInt8(ascii: "e")
            {
                dots += 1
                index += 2
            } else {
                others += 1
            }
            index += 1
        }
    }
}
