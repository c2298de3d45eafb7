import JSON
import Runtime

enum SettingsCommand {
    static let summary = "lists every setting with its type, default, range and the value in force"
    static let help = """
        usage: holdfast settings [--settings FILE] [--markdown]

        Lists every setting. With a settings file (or HOLDFAST_SETTINGS), checks it, names all that is wrong in it, and
        shows the values in force, secrets redacted. Exit code 2 when something is wrong.

          --settings FILE  the settings file: JSON with // comments
          --markdown       as a table for documents
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(arguments, options: ["settings"], flags: ["markdown"])
        if let stray = arguments.operands.first { throw UsageError("\(stray) is one word too many") }
        var reader = try HoldfastSettings.reader(path: arguments.value("settings"))
        let isDocumenting = reader == nil
        var documenting = SettingsReader.documenting
        if reader != nil {
            _ = HoldfastSettings(&reader!)
        } else {
            _ = HoldfastSettings(&documenting)
        }
        let keys = (reader ?? documenting).keys
        print(arguments.has("markdown") ? markdown(keys) : plain(keys, showingValues: !isDocumenting))
        try reader?.finish()
        return 0
    }

    private static func plain(_ keys: [SettingsReader.Key], showingValues: Bool) -> String {
        keys.map { key in
            var facts = key.type
            if let range = key.range { facts += ", \(range)" }
            if let fallback = key.defaultValue { facts += ", default \(fallback.isEmpty ? "empty" : fallback)" }
            let value = showingValues ? " = \(key.effectiveValue ?? "(not set)")" : ""
            return "\(key.name)\(value)  (\(facts))\n    \(key.help)"
        }.joined(separator: "\n")
    }

    private static func markdown(_ keys: [SettingsReader.Key]) -> String {
        let rows = keys.map { key in
            let range = (key.range ?? "").split(separator: "|").joined(separator: "\\|")
            return
                "| `\(key.name)` | \(key.type) | \(key.defaultValue.map { "`\($0)`" } ?? "") | \(range) | \(key.help) |"
        }
        return (["| setting | type | default | range | meaning |", "|---|---|---|---|---|"] + rows)
            .joined(separator: "\n")
    }
}
