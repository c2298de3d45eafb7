import AppStore
import Entitlements
import Glibc
import TestSupport
import Testing
import Time

@testable import Simulator

/// Lives whose news arrives at once and in the order in which Apple signed it: there, a transition that the table does
/// not know means that the table is wrong.
@Suite("Orderly lives") struct OrderlyLivesTests {
    private static let count = UInt64(variable("HOLDFAST_LIVES") ?? "") ?? 1_000
    private static let firstSeed = UInt64(variable("HOLDFAST_SEED") ?? "") ?? .random(in: 0...1 << 40)
    private static let shares: UInt64 = 4

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    @Test(
        "every transition is known to the table, and each history is a chain", arguments: 0..<shares)
    func everyTransitionIsKnown(share: UInt64) async throws {
        let report = try await onOwnThread { try Self.live(share) }
        if let failure = report.failure { Issue.record("\(failure)") }
        // A share that saw little would prove little.
        let missing = Self.seenInEveryShare.subtracting(report.seen.keys)
        #expect(missing.isEmpty, "never seen, HOLDFAST_SEED=\(Self.firstSeed)")
    }

    @Test(
        "who paid for seats, failed to pay and recovered has the access back",
        arguments: [
            Life(
                seed: 20_265_452,
                steps: [
                    .init(
                        pause: .milliseconds(394_550_506), account: 1, place: .sandbox,
                        deed: .command(
                            .buy("team.monthly", seats: SeatPurchase(quantity: 3, invitation: .developer)))),
                    .init(
                        pause: .milliseconds(4_080_230_780), account: 1, place: .sandbox,
                        deed: .command(.payment(fails: true, grace: true))),
                    .init(
                        pause: .milliseconds(1_650_231_587), account: 1, place: .production,
                        deed: .command(.changeSeats(subscription: "team.monthly", to: 6))),
                    .init(
                        pause: .milliseconds(88_847_000), account: 1, place: .sandbox,
                        deed: .command(.payment(fails: false))),
                ])
        ])
    func seatsOutlastAFailedPayment(life: Life) async throws {
        let (found, seen) = try await onOwnThread {
            let authority = try CertificateAuthority(makingAt: LifeCatalog.start)
            var seen: [String: Int] = [:]
            let facts = try AppleFacts(.production, authority: authority)
            return (try Self.mistake(in: life, facts, &seen), seen)
        }
        #expect(found == nil)
        #expect(seen["gracePeriod active recovery"] == 1)
    }

    /// What happens more than ten times in as few lives as a share has.
    private static let seenInEveryShare: Set<String> = [
        "nothing active purchase", "active hold time", "active canceled preference", "canceled expired time",
        "hold gracePeriod failure", "hold billingRetry failure", "gracePeriod billingRetry time",
        "billingRetry expired expiry", "active revoked refund", "expired active purchase",
    ]

    private struct Report: Sendable {
        var seen: [String: Int] = [:]
        var failure: String?
    }

    private static func live(_ share: UInt64) throws -> Report {
        let authority = try CertificateAuthority(makingAt: LifeCatalog.start)
        let facts = try AppleFacts(.production, authority: authority)
        var report = Report()
        let count = max(60, Self.count / 5)
        for seed in stride(
            from: firstSeed + share, to: firstSeed + count, by: Int(shares)
        ) {
            let life = Life(seed: seed, steps: 40)
            guard let found = try mistake(in: life, facts, &report.seen) else { continue }
            let shortest = try shrunk(life, facts)
            report.failure = "\(try mistake(in: shortest, facts, &report.seen) ?? found)\n\(shortest)"
            break
        }
        return report
    }

    private static func mistake(in life: Life, _ facts: AppleFacts, _ seen: inout [String: Int]) throws
        -> String?
    {
        var census = Census()
        // The route only says which dates news bears: here, its own.
        var world = try World(facts, .disorderly)
        var chronicles: [LineageID: Chronicle] = [:]
        var now = LifeCatalog.start
        for step in life.steps {
            now = now + step.pause
            let news = try world.advance(to: now, &census) + world.perform(step, at: now, &census)
            for observation in news {
                if let found = chronicles[observation.lineage, default: Chronicle()].take(
                    observation, &seen)
                {
                    return "\(observation.lineage.originalTransactionID) \(found)"
                }
            }
        }
        return nil
    }

    /// Leaves out steps one by one as long as it still goes wrong.
    private static func shrunk(_ life: Life, _ facts: AppleFacts) throws -> Life {
        var best = life
        var index = 0
        var seen: [String: Int] = [:]
        while index < best.steps.count {
            var shorter = best
            let left = shorter.steps.remove(at: index)
            if index < shorter.steps.count { shorter.steps[index].pause += left.pause }
            if try mistake(in: shorter, facts, &seen) == nil { index += 1 } else { best = shorter }
        }
        return best
    }
}

/// One lineage's record and history, kept as the store keeps them.
private struct Chronicle {
    private var record: LineageRecord?
    private var history: [HistoryEntry] = []

    /// What is wrong with what was added.
    mutating func take(_ news: Observation, _ seen: inout [String: Int]) -> String? {
        var after = record ?? LineageRecord(lineage: news.lineage)
        guard after.fold(news) else { return nil }
        let added = HistoryEntry.made(
            by: news, through: NotificationTable.cause(of: news), before: record, after: after,
            verifiedAt: news.signedDate, since: HistoryMark(of: history), map: LifeCatalog.maps[0], policy: .standard)
        record = after
        for entry in added {
            let step =
                "\(entry.from?.rawValue ?? "nothing") \(entry.to?.rawValue ?? "nothing") \(entry.cause.rawValue)"
            if entry.kind == .transition { seen[step, default: 0] += 1 }
            let name =
                "\(step), \(news.notificationType ?? "")/\(news.subtype ?? "") at \(news.signedDate.rfc3339)"
            if entry.isUnexpected { return "is unexpected: \(name)" }
            if let last = history.last, last.to != entry.from || entry.at < last.at {
                return "breaks the chain: \(name)"
            }
            history.append(entry)
        }
        let state = after.evaluated(at: news.signedDate, map: LifeCatalog.maps[0]).state
        return history.last?.to == state
            ? nil : "ends \(history.last?.to?.rawValue ?? "nowhere"), but is \(state)"
    }
}
