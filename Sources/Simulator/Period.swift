/// A length of time as StoreKit writes it (`P1W`, `P1M`, `P1Y`).
///
/// A month lasts 30 days and a year 365 here, not what the calendar says: every length is divided by the speed anyway.
package struct Period: Sendable, Hashable, CustomStringConvertible {
    /// The ISO 8601 text, as Apple repeats it in `offerPeriod`.
    package let description: String
    package let duration: Duration

    /// Reads `P`, then numbers each with one of Y, M, W and D; nil if it is anything else or lasts no time.
    package init?(_ text: String) {
        guard text.first == "P", text.utf8.count <= 16 else { return nil }
        var days: Int64 = 0
        var number: Int64?
        for character in text.dropFirst() {
            if let digit = character.wholeNumberValue, character.isASCII {
                let (tens, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
                guard !overflow, tens < 100_000 else { return nil }
                number = tens + Int64(digit)
            } else {
                guard let count = number, let unit = Self.days[character] else { return nil }
                days += count * unit
                number = nil
            }
        }
        guard days > 0, number == nil else { return nil }
        description = text
        duration = .seconds(days * 86_400)
    }

    private static let days: [Character: Int64] = ["Y": 365, "M": 30, "W": 7, "D": 1]
}
