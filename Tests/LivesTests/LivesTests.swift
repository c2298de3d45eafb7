import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Simulator

/// Whatever two accounts do, in whichever order and number the news of it arrives, and what is lost of it made up by
/// Apple's API: the records mean what the store's books say.
///
/// `HOLDFAST_LIVES` says how many lives are lived (1,000 by default), `HOLDFAST_SEED` from which seed on; each run prints
/// its own, so that it can be had again.
@Suite("Lives") struct LivesTests {
    private static let count = UInt64(variable("HOLDFAST_LIVES") ?? "") ?? 1_000
    private static let firstSeed = UInt64(variable("HOLDFAST_SEED") ?? "") ?? .random(in: 0...1 << 40)
    private static let shares: UInt64 = 8
    /// What all shares have seen together, and how many have ended.
    private static let total = Mutex((ended: 0, seen: Set<String>()))

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    @Test("Invariants 3 and 4: every life ends in the store's own truth", arguments: Route.allCases, 0..<shares)
    func everyLifeEndsInTheTruth(route: Route, share: UInt64) async throws {
        let seeds = stride(
            from: Self.firstSeed + share, to: Self.firstSeed + Self.count / 2, by: Int(Self.shares))
        let report = try await onOwnThread { try Self.live(route, seeds) }
        if let failure = report.failure { Issue.record("\(failure)") }

        let (ended, everSeen) = Self.total.withLock { total in
            total.ended += 1
            total.seen.formUnion(report.seen.keys)
            return total
        }
        // A few lives need not have seen everything; a whole run must have.
        if ended == Int(Self.shares) * Route.allCases.count, Self.count >= 1_000 {
            #expect(Oracle.Right.allTraits.subtracting(everSeen).isEmpty, "never seen")
        }
        print("\(report.lived) lives, \(route), HOLDFAST_SEED=\(Self.firstSeed)")
    }

    private struct Report: Sendable {
        var lived = 0
        var seen: [String: Int] = [:]
        var failure: String?
    }

    /// Lives one after the other, until one goes wrong.
    private static func live(_ route: Route, _ seeds: StrideTo<UInt64>) throws -> Report {
        let facts = try AppleFacts(settings: StoreSettings(seed: 1))
        var report = Report()
        for seed in seeds {
            let trial = Trial(life: Life(seed: seed, steps: 40), route: route, facts: facts)
            report.lived += 1
            guard try trial.difference(&report.seen) != nil else { continue }
            let shortest = try trial.shrunk()
            report.failure = "\(route): \(try shortest.difference(&report.seen) ?? "")\n\(shortest.life)"
            break
        }
        return report
    }
}
