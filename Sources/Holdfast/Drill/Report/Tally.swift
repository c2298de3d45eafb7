import CacheTier

/// Reads counted: of a stage, or of one second.
struct Tally: Sendable {
    private(set) var latencies: [Double] = []
    private(set) var classes: [ReadClass: Int] = [:]
    private(set) var levels: [ServiceLevel: Int] = [:]
    private(set) var sources: [String: Int] = [:]
    private(set) var levelsUntrue = 0
    private(set) var failovers = 0
    private(set) var longestLag = Duration.zero

    mutating func add(_ reading: Reading, _ verdict: Verdict) {
        latencies.append(reading.latency / .milliseconds(1))
        classes[verdict.readClass, default: 0] += 1
        if verdict.levelProblem != nil { levelsUntrue += 1 }
        failovers += reading.failovers
        longestLag = max(longestLag, verdict.lag ?? .zero)
        guard let service = reading.service else { return }
        levels[service.level, default: 0] += 1
        sources[verdict.readClass == .unknownCustomer ? "none" : service.source, default: 0] += 1
    }

    static func += (sum: inout Tally, other: Tally) {
        sum.latencies += other.latencies
        sum.classes.merge(other.classes, uniquingKeysWith: +)
        sum.levels.merge(other.levels, uniquingKeysWith: +)
        sum.sources.merge(other.sources, uniquingKeysWith: +)
        sum.levelsUntrue += other.levelsUntrue
        sum.failovers += other.failovers
        sum.longestLag = max(sum.longestLag, other.longestLag)
    }

    var reads: Int { latencies.count }
    var wrong: Int { classes.filter { $0.key.isWrong }.map(\.value).reduce(0, +) + levelsUntrue }
    func count(_ readClass: ReadClass) -> Int { classes[readClass] ?? 0 }
    func count(_ level: ServiceLevel) -> Int { levels[level] ?? 0 }

    /// The latency, in milliseconds, that this share of the reads did not exceed; nil without reads.
    func latency(_ share: Double) -> Double? {
        guard !latencies.isEmpty else { return nil }
        let sorted = latencies.sorted()
        return sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.down)))]
    }
}
