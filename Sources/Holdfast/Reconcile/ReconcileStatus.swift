import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Time

/// `holdfast reconcile --status`: what is due, and since when.
struct ReconcileStatus {
    let app: AppID
    let environment: StoreEnvironment
    let now: Timestamp
    var checks = DueStatus()
    var remindersDue = 0
    var reminders = 0
    /// Whether anybody asks Apple at all.
    var hasKey = true
    /// How much of what an earlier version stored stands in the schedule.
    var filled: ScheduleFilling.Progress = .done

    var exitCode: Int32 { checks.overdue > 0 ? 1 : 0 }

    static func run(_ arguments: CommandArguments) async throws -> Int32 {
        try await StoreSession.with("reconcile", arguments) { session in
            let status = try await ReconcileStatus(of: session)
            print(arguments.has("json") ? status.json : status.text)
            return status.exitCode
        }
    }

    init(app: AppID, environment: StoreEnvironment, now: Timestamp) {
        self.app = app
        self.environment = environment
        self.now = now
    }

    init(of session: StoreSession, clock: WallClock = .system) async throws {
        self.init(app: session.app.id, environment: session.environment, now: clock.now())
        checks = try await DueWork(redis: session.redis, app: app, environment: environment, clock: clock).status()
        let book = ReminderBook(
            redis: session.redis, app: app, environment: environment, rules: session.rules, clock: clock)
        (remindersDue, reminders) = try await book.counts()
        hasKey = session.app.serverAPIKey != nil
        filled = try await ScheduleFilling(redis: session.redis, app: app, rules: session.rules).progress()
    }

    var text: String {
        var table = TextTable(["", "due now", "overdue", "waiting longest", "scheduled"])
        for urgency in Urgency.allCases {
            let part = checks[urgency]
            table.add([
                urgency.name, "\(part.due)", "\(part.overdue)", waiting(part), "\(part.scheduled)",
            ])
        }
        table.add(["reminders", "\(remindersDue)", "-", "-", "\(reminders)"])
        var lines = ["\(environment.rawValue) of \(app), \(now)", table.text]
        if !hasKey { lines.append("Nobody asks Apple: the settings have no key for this app (apps.\(app).serverAPI).") }
        switch filled {
        case .done: break
        case .notBegun:
            lines.append("What an earlier version stored is not in it yet: a consumer enters it when it starts.")
        case .underWay(let fraction):
            lines.append("What an earlier version stored is being entered: \(Int(fraction * 100)) %.")
        }
        return lines.joined(separator: "\n")
    }

    private func waiting(_ part: DueStatus.Part) -> String {
        guard let oldest = part.oldest else { return "-" }
        return oldest <= now ? "\((now - oldest).inWords)" : "next in \((oldest - now).inWords)"
    }

    var json: String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", app.rawValue)
        json.member("environment", environment.rawValue)
        json.member("at", now.rfc3339)
        json.member("hasKey", hasKey)
        json.member("due", Int64(checks.due))
        json.member("overdue", Int64(checks.overdue))
        json.member("scheduled", Int64(checks.scheduled))
        json.object("byUrgency") { json in
            for urgency in Urgency.allCases {
                let part = checks[urgency]
                json.object(urgency.name) { json in
                    json.member("due", Int64(part.due))
                    json.member("overdue", Int64(part.overdue))
                    json.member("scheduled", Int64(part.scheduled))
                    json.member("oldest", part.oldest?.rfc3339)
                }
            }
        }
        json.object("reminders") { json in
            json.member("due", Int64(remindersDue))
            json.member("scheduled", Int64(reminders))
        }
        json.key("entered")
        json.number(filled.fraction)
        json.endObject()
        return json.text
    }
}
