/// Everything that is wrong with the settings, a sentence each.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
    package let problems: [String]
    package init(problems: [String]) { self.problems = problems }
    package var description: String { problems.joined(separator: "\n") }
}
