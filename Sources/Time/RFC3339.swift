/// RFC 3339 in UTC, always with milliseconds: `2026-11-30T02:14:38.123Z`.
extension Timestamp: CustomStringConvertible {
    /// Years outside 0000 to 9999, which the RFC cannot say, are written as the nearest instant that it can.
    package var rfc3339: String {
        let clamped = min(max(milliseconds, Self.yearZero), Self.yearTenThousand - 1)
        let (days, ofDay) = clamped.quotientAndRemainder(flooring: 86_400_000)
        let (year, month, day) = Self.civilDate(daysSince1970: days)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        func append(_ value: Int64, digits: Int) {
            var divisor: Int64 = 1
            for _ in 1..<digits { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
                divisor /= 10
            }
        }
        append(year, digits: 4)
        text.append(UInt8(ascii: "-"))
        append(month, digits: 2)
        text.append(UInt8(ascii: "-"))
        append(day, digits: 2)
        text.append(UInt8(ascii: "T"))
        append(ofDay / 3_600_000, digits: 2)
        text.append(UInt8(ascii: ":"))
        append(ofDay / 60_000 % 60, digits: 2)
        text.append(UInt8(ascii: ":"))
        append(ofDay / 1000 % 60, digits: 2)
        text.append(UInt8(ascii: "."))
        append(ofDay % 1000, digits: 3)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    package var description: String { rfc3339 }

    /// Reads any RFC 3339 date-time, offsets and up to nine fractional digits included; nil when it is none.
    package init?(rfc3339 text: some StringProtocol) {
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int) -> Int64? {
            guard rest.count >= digits else { return nil }
            var value: Int64 = 0
            for byte in rest.prefix(digits) {
                guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            rest = rest.dropFirst(digits)
            return value
        }
        func skip(_ allowed: String) -> UInt8? {
            guard let byte = rest.first, allowed.utf8.contains(byte) else { return nil }
            rest = rest.dropFirst()
            return byte
        }
        guard let year = number(4), skip("-") != nil, let month = number(2), skip("-") != nil, let day = number(2),
            skip("Tt ") != nil, let hour = number(2), skip(":") != nil, let minute = number(2), skip(":") != nil,
            let second = number(2), 1...12 ~= month, 1...Self.days(in: month, of: year) ~= day, hour < 24,
            minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if skip(".") != nil {
            let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard 1...9 ~= digits.count else { return nil }
            for place in 0..<3 {
                let digit = place < digits.count ? digits[digits.startIndex + place] - UInt8(ascii: "0") : 0
                fraction = fraction * 10 + Int64(digit)
            }
            rest = rest.dropFirst(digits.count)
        }
        var offset: Int64 = 0
        guard let sign = skip("Zz+-") else { return nil }
        if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
            guard let hours = number(2), skip(":") != nil, let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        self.init(milliseconds: ((days * 86_400 + hour * 3600 + minute * 60 + second) - offset) * 1000 + fraction)
    }

    private static let yearZero: Int64 = -62_167_219_200_000
    private static let yearTenThousand: Int64 = 253_402_300_800_000

    // Civil calendar arithmetic on eras of 400 years that begin on 1 March (Howard Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms").

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = marchYear.quotientAndRemainder(flooring: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).quotientAndRemainder(flooring: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = (marchMonth + 2) % 12 + 1
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    fileprivate func quotientAndRemainder(flooring divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
