import Entitlements
import Time

@testable import Simulator

/// How news travels from the store to the records.
enum Route: Sendable, CaseIterable {
    /// In any order, some of it late, some of it twice or more.
    case disorderly
    /// A third never arrives; what Apple's API answers makes up for it.
    case lossy
    /// As if Apple's clock stood still for a month at a time: many facts that differ bear one date. Which of them was the
    /// last cannot be known then, so Apple's API is asked as well.
    case simultaneous

    var asksApple: Bool { self != .disorderly }

    /// The date that news of `time` bears.
    func signedDate(_ time: Timestamp) -> Timestamp {
        guard self == .simultaneous else { return time }
        return Timestamp(milliseconds: time.milliseconds - time.milliseconds % (30 * 86_400_000))
    }
}

/// Carries observations of both environments to records of its own.
struct Courier {
    let route: Route
    private(set) var records: [LineageID: LineageRecord] = [:]
    /// All that ever arrived, by lineage.
    private(set) var delivered: [LineageID: [Observation]] = [:]
    /// Set when a record took in what is another's.
    private(set) var mistake: String?
    private var waiting: [Observation] = []

    init(_ route: Route) { self.route = route }

    /// Takes what the store said, and delivers some of what it holds.
    mutating func take(_ news: [Observation], _ random: inout StoreRandom, _ census: inout Census) {
        for observation in news {
            if route == .lossy, Int.random(in: 0..<3, using: &random) == 0 {
                census.count("delivered: lost")
                continue
            }
            waiting.append(observation)
            while Int.random(in: 0..<4, using: &random) == 0 {
                waiting.append(observation)
                census.count("delivered: repeated")
            }
        }
        waiting.shuffle(using: &random)
        let kept = Int.random(in: 0...waiting.count, using: &random)
        for observation in waiting[kept...] { deliver(observation, &random, &census) }
        waiting = Array(waiting[..<kept])
        census.count("delivered: late", kept)
    }

    /// Delivers everything it holds, and what Apple's API answers.
    mutating func settle(_ answers: [Observation], _ random: inout StoreRandom, _ census: inout Census) {
        for observation in (waiting + answers).shuffled(using: &random) { deliver(observation, &random, &census) }
        waiting = []
        for answer in answers { census.count("delivered: answered by \(answer.source.rawValue)") }
    }

    private mutating func deliver(
        _ observation: Observation, _ random: inout StoreRandom, _ census: inout Census
    ) {
        let lineage = observation.lineage
        _ = records[lineage, default: LineageRecord(lineage: lineage)].fold(observation)
        delivered[lineage, default: []].append(observation)

        // Now and then it is brought to the lineage of the same name in the other environment, too.
        let other = LineageID(
            app: lineage.app, environment: lineage.environment == .production ? .sandbox : .production,
            originalTransactionID: lineage.originalTransactionID)
        guard Int.random(in: 0..<4, using: &random) == 0, var record = records[other] else { return }
        census.count("delivered: to the wrong environment")
        let before = record
        if record.fold(observation) || record != before {
            mistake = "\(other.originalTransactionID) took in what is of the other environment"
        }
    }
}
