import Entitlements
import Simulator
import Testing

/// How news travels from the store to the records.
enum Route: Sendable, CaseIterable {
    /// In any order, some of it late, some of it twice or more.
    case disorderly
    /// A third never arrives; what Apple's API answers makes up for it.
    case lossy
}

/// Carries observations to records of its own.
struct Courier {
    let route: Route
    private(set) var records: [LineageID: LineageRecord] = [:]
    private var waiting: [Observation] = []

    init(_ route: Route) { self.route = route }

    /// Takes what the store said, and delivers some of what it holds.
    mutating func take(_ news: [Observation], _ random: inout some RandomNumberGenerator) {
        for observation in news where route != .lossy || Int.random(in: 0..<3, using: &random) > 0 {
            waiting.append(observation)
            while Int.random(in: 0..<4, using: &random) == 0 { waiting.append(observation) }
        }
        waiting.shuffle(using: &random)
        let kept = Int.random(in: 0...waiting.count, using: &random)
        for observation in waiting[kept...] { deliver(observation) }
        waiting = Array(waiting[..<kept])
    }

    /// Delivers everything it holds, and what Apple's API answers.
    mutating func settle(_ answers: [Observation], _ random: inout some RandomNumberGenerator) {
        for observation in (waiting + answers).shuffled(using: &random) { deliver(observation) }
        waiting = []
    }

    private mutating func deliver(_ observation: Observation) {
        _ = records[observation.lineage, default: LineageRecord(lineage: observation.lineage)].fold(observation)
    }
}
