import CacheTier
import Entitlements
import JSON
import Redis
import Runtime
import Time

/// `holdfast explain`: why a customer has or lacks something, in a sentence and with the evidence.
enum ExplainCommand {
    static let summary = "says why a customer has or lacks access, with the evidence"
    static let help = """
        usage: holdfast explain CUSTOMER [--entitlement ID] [--at TIME] [--history] [--app ID] [--environment sandbox]
                                [--json]
               holdfast explain --transaction ORIGINAL_TRANSACTION_ID [the same options]

        One sentence first, then for each of the customer's purchases what each rule found, and what Apple signed by the
        date on which it did; what made the answer what it is is marked with *. Read from Redis, whether or not the
        gateway runs.

        CUSTOMER is the id that reads use: the appAccountToken of the purchase.

          --transaction ID    start from an original transaction id: says whose it is, and explains that purchase alone
          --entitlement ID    ask about this one, such as pro; without it, about all
          --at TIME           as of then, such as 2026-11-30T12:00:00Z, by all that is known now; now by default
          --history           tell what happened as well: every change of state and its cause, and what was sent; what
                              time alone made since is filled in, what the table of transitions does not know is
                              marked with !
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 the customer has it, 1 the customer does not, 2 usage, 3 Redis is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["transaction", "entitlement", "at", "app", "environment", "settings"],
            flags: ["json", "history"])
        let question = try Question(arguments)
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try settings.app(named: arguments.value("app"))

        let loop = try EventLoop(name: "explain")
        let log = Log(part: "explain", minimum: .error)
        let redis = try settings.storeConnector(loop: loop, log: log).link("explain")
        await redis.start()
        let result: Result<(Explanation, Holder?), any Error>
        do {
            let map = try await ProductMapStore(redis: redis).published(of: app.id)?.map ?? app.map
            result = .success(try await explain(question, app, map, LineageStore(redis: redis)))
        } catch {
            result = .failure(error)
        }
        await redis.close()
        loop.stop()
        let (explanation, holder) = try result.get()
        print(
            arguments.has("json")
                ? json(explanation, question, app, holder) : text(explanation, question, holder))
        return explanation.hasAccess ? 0 : 1
    }

    struct Question {
        enum Subject { case customer(String), transaction(String) }

        let subject: Subject
        let environment: StoreEnvironment
        let entitlement: String?
        let instant: Timestamp
        let tellsHistory: Bool

        init(_ arguments: CommandArguments) throws(UsageError) {
            switch (arguments.operands.first, arguments.value("transaction")) {
            case (let customer?, nil): subject = .customer(customer)
            case (nil, let id?): subject = .transaction(id)
            default: throw UsageError("explain takes either a customer or --transaction")
            }
            guard arguments.operands.count <= 1 else {
                throw UsageError("\(arguments.operands[1]) is one word too many")
            }
            let name = arguments.value("environment") ?? "production"
            guard let environment = StoreEnvironment(rawValue: name) else {
                throw UsageError("--environment takes production or sandbox")
            }
            self.environment = environment
            entitlement = arguments.value("entitlement")
            tellsHistory = arguments.has("history")
            if let text = arguments.value("at") {
                guard let instant = Timestamp(rfc3339: text) else {
                    throw UsageError("--at takes a time such as 2026-11-30T12:00:00Z")
                }
                self.instant = instant
            } else {
                instant = WallClock.system.now()
            }
        }
    }

    private static func explain(
        _ question: Question, _ app: AppSettings, _ map: ProductMap, _ store: LineageStore
    ) async throws -> (Explanation, Holder?) {
        let records: [LineageRecord]
        var holder: Holder?
        switch question.subject {
        case .customer(let customer):
            records = try await store.records(
                of: CustomerKey(app: app.id, environment: question.environment, customer: customer))
        case .transaction(let id):
            let found = try await store.find(
                LineageID(app: app.id, environment: question.environment, originalTransactionID: id))
            records = found.map { [$0.record] } ?? []
            holder = found?.holder
        }
        var histories: [LineageID: [HistoryEntry]] = [:]
        for record in records where question.tellsHistory {
            histories[record.lineage] = try await store.history(of: record.lineage)
        }
        let explanation = Explanation(
            of: records, entitlement: question.entitlement, at: question.instant, map: map, policy: app.policy,
            histories: question.tellsHistory ? histories : nil)
        return (explanation, holder)
    }

    // MARK: Output

    static func text(_ explanation: Explanation, _ question: Question, _ holder: Holder?) -> String {
        var lines: [String] = []
        if case .transaction(let id) = question.subject {
            lines.append(whose(id, holder))
            // There is nobody to speak of.
            if holder == nil { return Console.printable(lines[0]) }
        }
        lines.append(explanation.sentence)
        lines.append("As of \(explanation.instant.rfc3339), by product map version \(explanation.mapVersion).")
        for lineage in explanation.lineages {
            lines += ["", "\(lineage.evaluation.summary)."]
            let width = lineage.findings.map(\.about.count).max() ?? 0
            for finding in lineage.findings {
                let padding = String(repeating: " ", count: width - finding.about.count)
                lines.append("  \(finding.about)\(padding)  \(finding.finding)")
            }
            lines.append("  by these rules:")
            for rule in lineage.rules {
                let mark = rule == lineage.evaluation.rule ? "*" : " "
                lines.append("  \(mark) \(rule.rawValue) (\(rule.situation)): \(rule.text)")
            }
            if let history = lineage.history {
                lines.append("  what happened:" + (history.isEmpty ? " nothing was noted" : ""))
                for entry in history {
                    lines.append("  \(entry.isUnexpected ? "!" : " ") \(entry.at.rfc3339)  \(entry.sentence)")
                }
            }
            lines.append("  signed by Apple:")
            for fact in lineage.facts {
                lines.append("  \(fact.isDecisive ? "*" : " ") \(fact.signedDate.rfc3339)  \(fact.text)")
            }
        }
        return lines.map { $0.isEmpty ? "" : Console.printable($0) }.joined(separator: "\n")
    }

    private static func whose(_ id: String, _ holder: Holder?) -> String {
        switch holder {
        case .customer(let customer): "\(id) belongs to the customer \(customer)."
        case .unclaimed: "\(id) is unclaimed: no signed transaction of it names a customer."
        case nil: "\(id) is not known here: no notification about it has arrived."
        }
    }

    static func json(
        _ explanation: Explanation, _ question: Question, _ app: AppSettings, _ holder: Holder?,
        more: (inout JSONWriter) -> Void = { _ in }
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", app.id.rawValue)
        json.member("environment", question.environment.rawValue)
        switch (question.subject, holder) {
        case (.customer(let customer), _), (.transaction, .customer(let customer)): json.member("customer", customer)
        case (.transaction, .unclaimed), (.transaction, nil): json.member("customer", nil as String?)
        }
        explanation.write(to: &json)
        more(&json)
        json.endObject()
        return json.text
    }
}
