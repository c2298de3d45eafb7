import AppStore
import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Time

/// `holdfast reconcile --plan`: the cadence, who is where in it now, and what it comes to.
struct ReconcilePlan {
    /// Questions that may be asked a second, and all that Apple allows.
    let callsPerSecond: Double
    let appleAllows: Double
    var population: Population?

    /// Who is in which row of an app in one environment.
    struct Population {
        let app: AppID
        let environment: StoreEnvironment
        let at: Timestamp
        /// By row; nil is what nobody asks about any more.
        var rows: [CadenceRow?: Int] = [:]
        /// Questions within the next day, by the row in which the subscription is now.
        var questions: [CadenceRow: Int] = [:]
        /// Holders that this version cannot read.
        var unreadable = 0

        var lineages: Int { rows.values.reduce(0, +) }
        var callsADay: Int { questions.values.reduce(0, +) }
        func lineages(_ urgency: Urgency) -> Int {
            rows.reduce(0) { $0 + ($1.key?.urgency == urgency ? $1.value : 0) }
        }
    }

    static func run(_ arguments: CommandArguments) async throws -> Int32 {
        guard arguments.value("settings") != nil || HoldfastSettings.environmentPath != nil else {
            let plan = ReconcilePlan(CallBudgetSettings(), .production)
            print(arguments.has("json") ? plan.json : plan.text)
            return plan.exitCode
        }
        return try await StoreSession.with("reconcile", arguments) { session in
            var plan = ReconcilePlan(session.settings.appStoreAPI.budget, session.environment)
            plan.population = try await Population(of: session)
            print(arguments.has("json") ? plan.json : plan.text)
            return plan.exitCode
        }
    }

    init(_ budget: CallBudgetSettings, _ environment: StoreEnvironment) {
        let lane = CallLane(bundleID: "", environment: environment, group: .frequent)
        callsPerSecond = budget.rate(of: lane)
        appleAllows = lane.group.callsPerSecond(in: environment)
    }

    var callsADay: Int { Int(callsPerSecond * 86_400) }
    var exitCode: Int32 { (population?.callsADay ?? 0) > callsADay ? 1 : 0 }

    /// How long it takes to ask about so many, one after the other at so many calls a second.
    static func sweep(of lineages: Int, at callsPerSecond: Double) -> Duration {
        .seconds(Double(lineages) / max(callsPerSecond, 0.001))
    }

    // MARK: For people

    var text: String {
        ([Self.table, "", millions] + (population.map { ["", text(of: $0)] } ?? [])).joined(separator: "\n")
    }

    /// The table in the source.
    static var table: String {
        var table = TextTable(["row", "urgency", "asked every", "grows", "fades", "when"], left: [0, 1, 2, 3, 5])
        for row in CadenceRow.allCases {
            let terms = row.terms
            let part = terms.part.map { $0 == 1 ? ", or the period" : ", or 1/\($0) of the period" } ?? ""
            let growth = terms.growth.map { "to 1/\($0) of its age" }?.replacing("1/1 of ", with: "")
            let most = terms.most.map { ", \($0.settingText) at most" } ?? ""
            table.add([
                row.rawValue, row.urgency.name, terms.every.settingText + part, (growth ?? "-") + most,
                terms.fades?.settingText ?? "-", terms.when,
            ])
        }
        return table.text
    }

    private var millions: String {
        let million = 1_000_000
        var table = TextTable(["a million subscriptions", "calls a day", "of the budget"])
        for plan in CadenceForecast.Plan.all {
            let calls = Int(CadenceForecast.questionsPerDay(plan) * Double(million))
            table.add([plan.name, calls.grouped, "\(Self.percent(calls, of: callsADay)) %"])
        }
        return """
            The budget is \(Self.number(callsPerSecond)) calls a second of the \(Self.number(appleAllows)) that Apple allows an \
            app, \(callsADay.grouped) a day. To ask once about each of
            \(million.grouped) subscriptions takes \(Self.sweep(of: million, at: callsPerSecond).inWords) at that, and \
            \(Self.sweep(of: million, at: appleAllows).inWords) at all that Apple allows.

            \(table.text)
            """
    }

    private func text(of population: Population) -> String {
        var table = TextTable(["row", "urgency", "subscriptions", "calls in the next day"], left: [0, 1])
        for row in CadenceRow.allCases {
            guard let count = population.rows[row], count > 0 else { continue }
            table.add([
                row.rawValue, row.urgency.name, count.grouped, (population.questions[row] ?? 0).grouped,
            ])
        }
        table.add(["not asked about", "-", (population.rows[nil] ?? 0).grouped, "-"])
        table.add(["all", "", population.lineages.grouped, population.callsADay.grouped])
        var text = """
            \(population.environment.rawValue) of \(population.app) as Redis has it, \(population.at)
            \(table.text)
            That is \(Self.percent(population.callsADay, of: callsADay)) % of the call budget.
            """
        if population.unreadable > 0 {
            text += "\n\(population.unreadable.grouped) customers were written by a newer version and are left out."
        }
        return text
    }

    private static func percent(_ part: Int, of whole: Int) -> String {
        number(whole > 0 ? Double(part) / Double(whole) * 100 : 0)
    }

    private static func number(_ value: Double) -> String {
        let tenths = (value * 10).rounded() / 10
        guard tenths < 1e15, tenths == tenths.rounded() else { return "\(tenths)" }
        return "\(Int64(tenths))"
    }
}

extension ReconcilePlan.Population {
    /// Walks over all that Redis has, without stopping it.
    init(of session: StoreSession, clock: WallClock = .system) async throws {
        self.init(app: session.app.id, environment: session.environment, at: clock.now())
        let (map, policy) = (session.rules.map, session.rules.evaluation)
        for part in try await session.redis.parts() {
            var scan = HolderScan(redis: part, app: app)
            var cursor = HolderScan.beginning
            repeat {
                let batch = try await scan.batch(after: cursor)
                unreadable += batch.unreadable
                for found in batch.found where found.environment == environment {
                    for record in found.records {
                        // Under `share` several have it.
                        let holders = Holder.all(of: record, under: session.rules.transfers.policy)
                        guard holders.first == found.holder else { continue }
                        add(record, map, policy)
                    }
                }
                cursor = batch.cursor
            } while cursor != HolderScan.beginning
        }
    }

    private mutating func add(_ record: LineageRecord, _ map: ProductMap, _ policy: EvaluationPolicy) {
        let row = Cadence.row(of: record, map: map, policy: policy, at: at)
        rows[row, default: 0] += 1
        guard let row else { return }
        questions[row, default: 0] += CadenceForecast.questions(
            about: record, map: map, policy: policy, from: at, within: .seconds(86_400))
    }
}

extension ReconcilePlan {
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        json.array("rows", CadenceRow.allCases) { json, row in
            let terms = row.terms
            json.beginObject()
            json.member("row", row.rawValue)
            json.member("urgency", row.urgency.name)
            json.member("every", terms.every.settingText)
            json.member("partOfPeriod", terms.part.map { Int64($0) })
            json.member("growth", terms.growth.map { Int64($0) })
            json.member("most", terms.most?.settingText)
            json.member("fades", terms.fades?.settingText)
            json.member("when", terms.when)
            if let population {
                json.member("subscriptions", Int64(population.rows[row] ?? 0))
                json.member("callsInTheNextDay", Int64(population.questions[row] ?? 0))
            }
            json.endObject()
        }
        json.object("budget") { json in
            json.key("callsPerSecond")
            json.number(callsPerSecond)
            json.member("callsADay", Int64(callsADay))
            json.key("appleAllows")
            json.number(appleAllows)
        }
        json.object("million") { json in
            json.member(
                "sweepSeconds", Int64(Self.sweep(of: 1_000_000, at: callsPerSecond) / .seconds(1)))
            json.member(
                "sweepSecondsAtApplesLimit", Int64(Self.sweep(of: 1_000_000, at: appleAllows) / .seconds(1)))
            json.object("callsADay") { json in
                for plan in CadenceForecast.Plan.all {
                    json.member(plan.name, Int64(CadenceForecast.questionsPerDay(plan) * 1_000_000))
                }
            }
        }
        if let population {
            json.object("population") { json in
                json.member("app", population.app.rawValue)
                json.member("environment", population.environment.rawValue)
                json.member("at", population.at.rfc3339)
                json.member("subscriptions", Int64(population.lineages))
                json.member("notAskedAbout", Int64(population.rows[nil] ?? 0))
                json.member("callsInTheNextDay", Int64(population.callsADay))
                json.member("unreadable", Int64(population.unreadable))
                json.object("byUrgency") { json in
                    for urgency in Urgency.allCases {
                        json.member(urgency.name, Int64(population.lineages(urgency)))
                    }
                }
            }
        }
        json.endObject()
        return json.text
    }
}
