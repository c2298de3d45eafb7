import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import JSON
import Runtime
import Time

/// `holdfast reconcile CUSTOMER`: asks Apple now about every purchase of a customer, and shows what that changed.
struct ReconcileCheck {
    /// What came of one purchase.
    struct Outcome {
        let before: LineageRecord
        let report: LineageCheck.Report
        /// What Apple said that we did not know.
        let differences: [Drift.Difference]
        /// Whether a consumer has stored it; nil when there is nothing to be stored.
        let isApplied: Bool?
    }

    enum Subject {
        case customer(String)
        case transaction(String)

        var name: String {
            switch self {
            case .customer(let id), .transaction(let id): id
            }
        }
    }

    private let session: StoreSession
    private let log: Log
    private let clock = WallClock.system

    /// So long it is waited for consumers.
    private static let patience = Duration.seconds(10)

    /// Returns the exit code: 1 when Apple's word is not to be had, or leaves something in doubt.
    static func run(_ arguments: CommandArguments, _ subject: Subject) async throws -> Int32 {
        try await StoreSession.with("reconcile", arguments) { session in
            let check = ReconcileCheck(session: session, log: Log(part: "reconcile", minimum: .error))
            let records = try await check.records(of: subject)
            guard !records.isEmpty else {
                Console.error("nothing is known of \(subject.name)")
                return 1
            }
            let outcomes = try await check.outcomes(of: records)
            Console.line(arguments.has("json") ? check.json(outcomes) : check.text(outcomes))
            return outcomes.allSatisfy { $0.report.verdict == .settled } ? 0 : 1
        }
    }

    private func records(of subject: Subject) async throws -> [LineageRecord] {
        switch subject {
        case .customer(let customer):
            return try await session.store.records(
                of: CustomerKey(app: session.app.id, environment: session.environment, customer: customer))
        case .transaction(let id):
            let lineage = LineageID(
                app: session.app.id, environment: session.environment, originalTransactionID: id)
            return [try await session.store.find(lineage)?.record].compactMap(\.self)
        }
    }

    private func outcomes(of records: [LineageRecord]) async throws -> [Outcome] {
        try await AppleSession.with(
            session.settings, session.app, session.environment, redis: session.redis, loop: session.loop, log: log
        ) { apple in
            let inquiry = StatusInquiry(
                client: apple.client, verifier: session.settings.appStore.verifier(), identity: session.app.identity)
            let check = LineageCheck(
                rules: session.rules, publisher: apple.publisher, names: session.settings.broker.names, log: log,
                ask: LineageCheck.asking(inquiry, for: .reconcile))
            var outcomes: [Outcome] = []
            for record in records {
                let report = try await check.check(record, .support)
                outcomes.append(try await outcome(of: record, report))
            }
            return outcomes
        }
    }

    private func outcome(of record: LineageRecord, _ report: LineageCheck.Report) async throws -> Outcome {
        guard case .success(let word) = report.answer else {
            return Outcome(before: record, report: report, differences: [], isApplied: nil)
        }
        let own = word.observations.filter { $0.lineage == record.lineage }
        return Outcome(
            before: record, report: report,
            differences: own.flatMap { Drift.found(before: record, answer: $0) },
            isApplied: own.isEmpty ? nil : try await isApplied(own, to: record.lineage))
    }

    /// Waits for a consumer that takes it from the queue.
    private func isApplied(_ news: [Observation], to lineage: LineageID) async throws -> Bool {
        let end = ContinuousClock.now + Self.patience
        while true {
            if var stored = try await session.store.find(lineage)?.record {
                let known = news.allSatisfy { !stored.fold($0) }
                if known { return true }
            }
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    // MARK: Output

    private func text(_ outcomes: [Outcome]) -> String {
        var lines: [String] = []
        for outcome in outcomes {
            let report = outcome.report
            lines.append("\(outcome.before.lineage.originalTransactionID)  \(report.before.summary).")
            switch report.answer {
            case .failure(let silence): lines.append("  Apple did not say: \(silence.reason)")
            case .success(let word):
                lines.append("  Apple says: \(word.said) (\(word.message.messageID ?? ""))")
                lines += outcome.differences.map {
                    "  \($0.field.rawValue): \($0.ours ?? "nothing") is \($0.apples ?? "nothing")"
                }
                if outcome.differences.isEmpty { lines.append("  nothing that was not known") }
                if report.concluded != report.before { lines.append("  now: \(report.concluded.summary).") }
            }
            if outcome.isApplied == false { lines.append("  on its way: no consumer has stored it yet") }
        }
        return lines.map { Console.printable($0) }.joined(separator: "\n")
    }

    private func json(_ outcomes: [Outcome]) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        json.member("environment", session.environment.rawValue)
        json.array("purchases", outcomes) { json, outcome in
            json.beginObject()
            json.member("originalTransactionId", outcome.before.lineage.originalTransactionID)
            json.member("verdict", outcome.report.verdict.rawValue)
            switch outcome.report.answer {
            case .failure(let silence):
                json.member("said", String?.none)
                json.member("reason", silence.reason)
            case .success(let word):
                json.member("said", word.said)
                json.member("message", word.message.messageID)
            }
            json.member("before", outcome.report.before.state.rawValue)
            json.member("concluded", outcome.report.concluded.state.rawValue)
            json.member("milliseconds", Int64(clamping: Int(outcome.report.took / .milliseconds(1))))
            json.array("differences", outcome.differences) { json, difference in
                json.beginObject()
                difference.write(to: &json)
                json.endObject()
            }
            if let isApplied = outcome.isApplied { json.member("applied", isApplied) }
            json.endObject()
        }
        json.endObject()
        return json.text
    }
}
