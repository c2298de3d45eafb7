import Entitlements
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AppStore
@testable import Simulator

/// Whatever two accounts do in two environments under changing product maps, and in whichever order and number the news of
/// it arrives, and what is lost of it made up by Apple's API: the records mean what the store's books say.
///
/// `HOLDFAST_LIVES` says how many lives are lived (1,000 by default), `HOLDFAST_SEED` from which seed on; each run prints
/// its own, so that it can be had again. `ops/lives` runs many of them, built for release.
@Suite("Lives") struct LivesTests {
    private static let count = UInt64(variable("HOLDFAST_LIVES") ?? "") ?? 1_000
    private static let firstSeed = UInt64(variable("HOLDFAST_SEED") ?? "") ?? .random(in: 0...1 << 40)
    private static let shares: UInt64 = 4
    /// What all shares have lived together, and how many shares have ended.
    private static let total = Mutex((ended: 0 as UInt64, lived: 0 as UInt64, census: Census()))

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    @Test(
        "Invariants 3, 4, 7 and 9: every life ends in the store's own truth, whatever order its news came in",
        arguments: 0..<shares)
    func everyLifeEndsInTheTruth(share: UInt64) async throws {
        let seeds = stride(from: Self.firstSeed + share, to: Self.firstSeed + Self.count, by: Int(Self.shares))
        let (census, failure) = try await onOwnThread { try Self.live(seeds) }
        if let failure { Issue.record("\(failure)\nHOLDFAST_SEED=\(Self.firstSeed)") }

        let total = Self.total.withLock { total in
            total.ended += 1
            total.census.add(census)
            return total
        }
        guard total.ended == Self.shares else { return }
        print("\(total.lived) lives, HOLDFAST_SEED=\(Self.firstSeed)\n\(total.census.table)")
        // A few lives need not have seen everything; a whole run must have.
        if Self.count >= 1_000 { #expect(total.census.missing.isEmpty) }
    }

    /// A name means the period that runs: money back for it, and not for the one that was charged ahead, ends the access.
    @Test(
        "Invariants 3, 4, 7 and 9: lives in which a refund came after the next period was charged",
        arguments: [
            Life(
                seed: 20_263_233,
                steps: [
                    .init(
                        pause: .milliseconds(675_635_480), account: 0, place: .production,
                        deed: .command(.buy("steps.monthly", offer: "back"))),
                    .init(
                        pause: .milliseconds(10_293_047_278), account: 0, place: .production,
                        deed: .command(.refund(transaction: "steps.monthly"))),
                ]),
            Life(
                seed: 20_263_446,
                steps: [
                    .init(
                        pause: .milliseconds(25_406_505_788), account: 0, place: .production,
                        deed: .command(.buy("steps.monthly", offer: "back"))),
                    .init(
                        pause: .milliseconds(1_306_742_214), account: 0, place: .production,
                        deed: .command(.extend(days: 5))),
                    .init(
                        pause: .milliseconds(9_489_642_966), account: 0, place: .production,
                        deed: .command(.refund(transaction: "steps.monthly"))),
                ]),
        ])
    func refundsAfterTheNextPeriodWasCharged(life: Life) async throws {
        let (found, census) = try await onOwnThread {
            let authority = try CertificateAuthority(makingAt: LifeCatalog.start)
            let facts = try StoreEnvironment.allCases.map { try AppleFacts($0, authority: authority) }
            var census = Census()
            return (try Trial(life: life, facts: facts).difference(&census), census)
        }
        #expect(found == nil)
        #expect(census.counts["lived: refund with the next period charged early"] == 1)
    }

    /// Lives one after the other, until one goes wrong.
    private static func live(_ seeds: StrideTo<UInt64>) throws -> (Census, String?) {
        let authority = try CertificateAuthority(makingAt: LifeCatalog.start)
        let facts = try StoreEnvironment.allCases.map { try AppleFacts($0, authority: authority) }
        var census = Census()
        for seed in seeds {
            let trial = Trial(life: Life(seed: seed, steps: 32), facts: facts)
            if try trial.difference(&census) != nil {
                let shortest = try trial.shrunk()
                return (census, "\(shortest.life.route): \(try shortest.difference(&census) ?? "")\n\(shortest.life)")
            }
            let lived = total.withLock { total in
                total.lived += 1
                return total.lived
            }
            if lived % 10_000 == 0 { print("\(lived) lives, HOLDFAST_SEED=\(firstSeed)") }
        }
        return (census, nil)
    }
}
