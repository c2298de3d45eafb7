package import HTTP

/// The name by which one request can be followed through logs, queues and answers.
package enum Correlation {
    /// What the caller gave, if it is harmless: `X-Correlation-ID`, or the trace id of `traceparent`; otherwise a new one.
    package static func id(of head: HTTPRequestHead) -> String {
        if let given = head.headers["X-Correlation-ID"], isValid(given) { return given }
        if let trace = head.headers["traceparent"].flatMap(traceID) { return trace }
        return make()
    }

    /// 128 random bits in hexadecimal.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return hexadecimal(generator.next()) + hexadecimal(generator.next())
    }

    /// Up to 64 letters, digits, `.`, `_` and `-`: nothing that could mean something in a log or a header.
    static func isValid(_ text: String) -> Bool {
        1...64 ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// `00-<32 hexadecimal>-<16 hexadecimal>-<2 hexadecimal>`, the trace id not all zero.
    private static func traceID(_ header: String) -> String? {
        let parts = header.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].utf8.count == 2, parts[1].utf8.count == 32, parts[2].utf8.count == 16 else {
            return nil
        }
        let trace = parts[1].utf8
        let isHexadecimal = trace.allSatisfy { byte in
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
        }
        return isHexadecimal && trace.contains { $0 != UInt8(ascii: "0") } ? String(parts[1]) : nil
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
