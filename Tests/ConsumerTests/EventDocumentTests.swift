import AppStore
import Entitlements
import Glibc
import JSON
import Runtime
import TestSupport
import Testing

@testable import Broker
@testable import Consumer
@testable import Simulator

/// docs/events.md says what the source says. `HOLDFAST_WRITE_DOCS=1` writes its tables anew.
@Suite struct EventDocumentTests {
    @Test func thePageHasTheTablesOfTheSource() async throws {
        let path = "\(Command.packageFolder)/docs/events.md"
        let page = try File.text(at: path)
        var expected = page
        for (name, text) in [
            ("example", try await example()), ("events", events), ("reminder", reminder), ("fields", fields),
            ("notifications", notifications),
        ] {
            expected = try #require(replaced(name, by: text, in: expected), "no block \(name) in docs/events.md")
        }
        if getenv("HOLDFAST_WRITE_DOCS") != nil, expected != page { try write(expected, to: path) }
        let differs = zip(lines(try File.text(at: path)), lines(expected)).first { $0 != $1 }
        #expect(differs == nil, "docs/events.md is not what the source says; its last line says how to write it anew")
        #expect(lines(page).count == lines(expected).count || getenv("HOLDFAST_WRITE_DOCS") != nil)
    }

    private func lines(_ text: String) -> [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    // MARK: Tables

    private var events: String {
        var text = "| event | after | carries beyond what all carry |\n|---|---|---|\n"
        for event in EventName.allCases {
            let kinds: [String]
            switch event {
            case .entitlementChanged: kinds = ["whatever changed a record"]
            case .transferLost, .transferGained: kinds = ["a claim, or another token, that moved a purchase"]
            case .reminderDue:
                kinds = ["an end at which nothing renews, 7 days, 3 days and 24 hours before it"]
            case .appleHealth: kinds = ["calls of the App Store Server API that fail, or are answered again"]
            case .driftFound:
                kinds = ["an answer of Apple's that says what a notification had not told, examined a while later"]
            case .notificationUnknown: kinds = ["a type, or a type with a subtype, that is not in the table below"]
            default: kinds = NotificationTable.rows.filter { $0.event == event }.map(kind)
            }
            let details = event.details.map { "`\($0.rawValue)`" }
            text += "| `\(event.rawValue)` | \(kinds.joined(separator: ", ")) | \(details.joined(separator: ", ")) |\n"
        }
        return text
    }

    private var fields: String {
        var text = "| field | says |\n|---|---|\n"
        for detail in EventDetail.allCases {
            for (name, meaning) in detail.fields {
                text += "| `\(name.isEmpty ? detail.rawValue : "\(detail.rawValue).\(name)")` | \(meaning) |\n"
            }
        }
        return text
    }

    private var reminder: String {
        var text = "| field | says |\n|---|---|\n"
        for (name, meaning) in ReminderEvent.fields { text += "| `\(name)` | \(meaning) |\n" }
        return text
    }

    private var notifications: String {
        var text = "| type | subtype | in | transaction | renewal | status | cause | event | means |\n"
        text += "|---|---|---|---|---|---|---|---|---|\n"
        for row in NotificationTable.rows {
            text += line(of: row, row.type?.rawValue ?? "", row.subtype?.rawValue ?? "")
        }
        text += line(of: NotificationTable.undocumented(.test), "any of these", "any other")
        return text + line(of: NotificationTable.unknown, "any other", "any or none")
    }

    private func line(of row: NotificationRow, _ type: String, _ subtype: String) -> String {
        let facts = [row.transaction, row.renewal, row.status].map(mark).joined(separator: " | ")
        return "| \(type) | \(subtype) | \(row.object?.rawValue ?? "any") | \(facts) | \(row.cause.rawValue) "
            + "| `\(row.event.rawValue)` | \(row.meaning) |\n"
    }

    private func mark(_ presence: NotificationRow.Presence) -> String {
        switch presence {
        case .required: "●"
        case .optional: "○"
        case .none: ""
        }
    }

    private func kind(_ row: NotificationRow) -> String {
        let type = row.type?.rawValue ?? ""
        return row.subtype.map { "\(type)/\($0.rawValue)" } ?? type
    }

    // MARK: Example

    /// A refund as it is published, with ids that do not change from run to run.
    private func example() async throws -> String {
        let stage = try EventStage()
        let bought = try stage.buy()
        try await stage.deliver(try stage.notification("SUBSCRIBED", "INITIAL_BUY", about: bought))
        let events = try stage.store.perform(.refund(reason: 1), for: EventStage.account, at: Forge.now)
        let notification = events.compactMap(\.notification).first { $0.type == "REFUND" }
        let refund = try #require(notification)
        try await stage.deliver(refund)
        let event = stage.publisher.published.last { $0.message.type == "refund.granted" }
        let published = try #require(event)
        var text = "routing key: \(published.routingKey)\n\n{\n"
        for member in try JSONValue.parse(published.message.body).object?.members ?? [] {
            var json = JSONWriter()
            json.value(member.value)
            text += "  \"\(member.key)\": \(json.text.replacing(",\"", with: ", \"").replacing("\":", with: "\": ")),\n"
        }
        text = String(text.dropLast(2)) + "\n}"
        text.replace(refund.uuid, with: "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        text.replace(bought.id, with: "2000000123456789")
        text.replace(bought.originalID, with: "2000000123456789")
        return "```\n\(text)\n```\n"
    }

    // MARK: The page

    /// Nil when the page has no such block.
    private func replaced(_ name: String, by text: String, in page: String) -> String? {
        let (begin, end) = ("<!-- \(name): begin -->\n", "<!-- \(name): end -->")
        guard let first = page.firstRange(of: begin),
            let last = page[first.upperBound...].firstRange(of: end)
        else { return nil }
        return page[..<first.upperBound] + text + page[last.lowerBound...]
    }

    private func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard file >= 0 else { throw SystemError(call: "open \(path)") }
        defer { close(file) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemError(call: "write \(path)") }
            rest = rest.dropFirst(count)
        }
    }
}
