/// How times are written in settings: a whole number and a unit, such as `250ms` or `24h`.
extension Duration {
    private static let settingUnits: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    package init?(settingText text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count)
        guard let number = Int64(digits), let unit = Self.settingUnits.first(where: { $0.suffix == suffix }) else {
            return nil
        }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The largest unit that says it in whole numbers.
    package var settingText: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        let unit = Self.settingUnits.last { milliseconds % $0.milliseconds == 0 && milliseconds != 0 }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.suffix)" } ?? "\(milliseconds)ms"
    }
}

/// How sizes are written in settings: bytes, or a whole number and a binary unit, such as `256KiB`.
enum ByteCount {
    private static let units: [(suffix: String, bytes: Int)] = [
        ("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    static func parse(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count)
        guard let number = Int(digits), let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
        return overflow ? nil : bytes
    }

    static func text(_ bytes: Int) -> String {
        let unit = units.last { bytes % $0.bytes == 0 && bytes != 0 && $0.suffix != "B" }
        return unit.map { "\(bytes / $0.bytes)\($0.suffix)" } ?? "\(bytes)"
    }
}

/// What a setting is called in the environment.
enum EnvironmentVariable {
    /// `broker.connectTimeout` is `HOLDFAST_BROKER_CONNECT_TIMEOUT`.
    static func name(of path: [String]) -> String {
        var text = "HOLDFAST"
        for name in path {
            text += "_"
            var previous: Character = "_"
            for character in name {
                if character.isUppercase, previous.isLowercase { text += "_" }
                text += character.isLetter || character.isNumber ? character.uppercased() : "_"
                previous = character
            }
        }
        return text
    }
}
