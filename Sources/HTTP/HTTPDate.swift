internal import Glibc
package import Time

/// The `Date` field's value (RFC 9110 5.6.7), made once a second.
package struct HTTPDate {
    private var second = Int.min
    private var text: [UInt8] = []

    mutating func now() -> [UInt8] {
        let now = Glibc.time(nil)
        if now != second {
            second = now
            text = Array(Self.text(of: now).utf8)
        }
        return text
    }

    /// Reads the format that RFC 9110 tells servers to send (IMF-fixdate), such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func timestamp(of text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].utf8.count == 4, parts[5] == "GMT", parts[1].utf8.count == 2,
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        return Timestamp(rfc3339: "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(of second: Int) -> String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        // 2026-11-30T02:14:38.123Z
        let parts = Timestamp(milliseconds: Int64(second) * 1000).rfc3339.split { "-T:.".contains($0) }
        guard second >= 0, parts.count >= 6, let month = Int(parts[1]), months.indices.contains(month - 1) else {
            return "Thu, 01 Jan 1970 00:00:00 GMT"
        }
        let date = "\(parts[2]) \(months[month - 1]) \(parts[0])"
        return "\(days[second / 86_400 % 7]), \(date) \(parts[3]):\(parts[4]):\(parts[5].prefix(2)) GMT"
    }
}
