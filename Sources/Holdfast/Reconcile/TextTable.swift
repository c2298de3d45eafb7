import Runtime

/// Columns as wide as what stands in them; the first and the last lean left, numbers right.
struct TextTable {
    private var rows: [[String]]
    private let left: Set<Int>

    /// `left` are the columns that lean left.
    init(_ head: [String], left: Set<Int> = [0]) {
        rows = [head]
        self.left = left
    }

    mutating func add(_ row: [String]) { rows.append(row) }

    var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                left.contains(column) ? cell.padded(to: widths[column]) : cell.leftPadded(to: widths[column])
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}

extension Duration {
    /// For people, to two places: `5.6 h`.
    var inWords: String {
        let seconds = self / .seconds(1)
        let units: [(Double, String)] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        for (length, name) in units where seconds >= length { return "\(Self.short(seconds / length)) \(name)" }
        return "\(Self.short(seconds * 1000)) ms"
    }

    private static func short(_ value: Double) -> String {
        let tenths = (value * 10).rounded() / 10
        guard tenths < 1e15 else { return "\(tenths)" }
        return tenths == tenths.rounded() ? "\(Int64(tenths))" : "\(tenths)"
    }
}

extension Int {
    /// With a comma for each thousand.
    var grouped: String {
        let digits = Array(String(magnitude))
        var text = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
