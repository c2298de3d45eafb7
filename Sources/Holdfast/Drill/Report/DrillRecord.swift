import Time

/// All that a drill has seen.
struct DrillRecord: Sendable {
    struct Wrong: Sendable {
        let seconds: Double
        let customer: String
        let gateway: Int
        let what: String
    }

    /// An outage as the timeline shows it.
    struct Span: Sendable {
        let name: String
        let from: Double
        let to: Double
    }

    static let examplesKept = 20
    /// Of each kind, so that the most frequent does not crowd out the others.
    private static let examplesOfAKind = 5

    let scenario: String
    let began: Timestamp
    private(set) var stages: [Scenario.Stage: Tally] = [:]
    private(set) var seconds: [Int: Tally] = [:]
    private(set) var examples: [Wrong] = []
    /// How many examples there are of each class; under nil those whose level alone is untrue.
    private var kinds: [ReadClass?: Int] = [:]
    private(set) var happenings: [(seconds: Double, text: String)] = []
    private var stageBegins: [(stage: Scenario.Stage, at: Timestamp)] = []
    var spans: [Span] = []
    var end: Double = 0
    /// From the last mending until all was as it should be; nil when that was not seen.
    var recovery: Duration?
    /// What was still missing when the time for recovery was over, or at the end.
    var unfinished: [String] = []
    var accounts = 0
    var changes = 0
    /// Whether lags, calls, events and lineages were looked at.
    let isExact: Bool
    var losses = LossRecord()

    init(scenario: String, isExact: Bool = false, began: Timestamp) {
        self.scenario = scenario
        self.isExact = isExact
        self.began = began
    }

    func seconds(_ instant: Timestamp) -> Double { (instant - began) / .seconds(1) }

    mutating func enter(_ stage: Scenario.Stage, at instant: Timestamp) { stageBegins.append((stage, instant)) }

    /// The stage at an instant; nil before the first.
    func stage(at instant: Timestamp) -> Scenario.Stage? { stageBegins.last { $0.at <= instant }?.stage }

    func begin(of stage: Scenario.Stage) -> Double? {
        stageBegins.first { $0.stage == stage }.map { seconds($0.at) }
    }

    mutating func note(_ text: String, at instant: Timestamp) { happenings.append((seconds(instant), text)) }

    mutating func add(_ reading: Reading, _ verdict: Verdict) {
        guard let stage = stage(at: reading.sentAt) else { return }
        stages[stage, default: Tally()].add(reading, verdict)
        let second = seconds(reading.sentAt)
        seconds[Int(second.rounded(.down)), default: Tally()].add(reading, verdict)
        guard verdict.isWrong else { return }
        let kind = verdict.readClass.isWrong ? verdict.readClass : nil
        let alike = kinds[kind, default: 0]
        guard alike < Self.examplesOfAKind else { return }
        kinds[kind] = alike + 1
        let what = [
            verdict.readClass.isWrong ? "\(verdict.readClass.words): \(verdict.detail ?? "")" : nil,
            verdict.levelProblem.map { "level untrue: \($0)" },
        ].compactMap(\.self).joined(separator: "; ")
        examples.append(Wrong(seconds: second, customer: reading.customer, gateway: reading.gateway, what: what))
    }

    var total: Tally { stages.values.reduce(into: Tally()) { $0 += $1 } }

    /// What must hold, whether it does, and the figures.
    var claims: [(claim: String, holds: Bool, figure: String)] {
        let total = total
        func none(_ claim: String, _ count: Int) -> (String, Bool, String) {
            (claim, count == 0, "\(count) of \(total.reads)")
        }
        return [
            (
                "there were reads in every stage", Scenario.Stage.allCases.allSatisfy { (stages[$0]?.reads ?? 0) > 0 },
                "\(total.reads)"
            ),
            none("no failed read", total.count(.failed)),
            none("no payer without access", total.count(.payerWithoutAccess)),
            none("no non-payer with access beyond the hold", total.count(.nonPayerWithAccess)),
            none("no invented “has nothing”", total.count(.inventedNo)),
            none("every level true", total.levelsUntrue),
            (
                "recovered fully", recovery != nil && unfinished.isEmpty,
                recovery.map { "after \(Self.text($0))" } ?? "not seen"
            ),
        ] + (isExact ? lossClaims : [])
    }

    var isFine: Bool { claims.allSatisfy(\.holds) }

    static func text(_ duration: Duration) -> String { "\(((duration / .milliseconds(100)).rounded()) / 10) s" }
}
