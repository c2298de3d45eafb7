extension String {
    /// The text made safe for a terminal, a line at most: what comes from elsewhere may hold anything. Controls, marks
    /// that turn the direction of writing, and what no terminal can show become U+FFFD, one for each; past `limit`
    /// characters of Unicode it ends in "…".
    package func printable(limit: Int = 500) -> String {
        var shown = UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else {
                shown.append("…")
                break
            }
            count &+= 1
            shown.append(scalar.isPrintable ? scalar : "\u{FFFD}")
        }
        return String(shown)
    }
}

extension Unicode.Scalar {
    /// Whether a terminal can show it and does nothing else with it.
    package var isPrintable: Bool {
        if value < 0x7F { return value >= 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: return false
        default: return true
        }
    }
}
