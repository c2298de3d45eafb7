import TestSupport
import Testing
import Time

@testable import Entitlements

/// What holds of every record, however it came about. A failure names the seed that shows it again.
@Suite struct CadencePropertyTests {
    /// The first found something once.
    private static let seeds: [UInt64] = [17_367_100_518_440_698_973] + (0..<12).map { _ in .random(in: .min ... .max) }

    private func record(_ observations: [Observation]) -> LineageRecord {
        var record = LineageRecord(lineage: lineage)
        for observation in observations { record.fold(observation) }
        return record
    }

    @Test("Invariant 4: the next check is a pure function of the record and the instant", arguments: seeds)
    func theNextCheckIsAPureFunction(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = Generator(seed: seed)
            let observations = generator.observations(20)
            let (one, other) = (record(observations), record(observations.shuffled(using: &generator)))
            for instant in generator.instants(of: observations) {
                let (a, b) = (
                    Cadence.next(for: one, map: map, at: instant), Cadence.next(for: other, map: map, at: instant)
                )
                check(a == b, "seed \(seed)")
                check(a.map { $0.at >= instant } ?? true, "seed \(seed)")
            }
        }
    }

    @Test("Invariant 5: what only Apple can settle is never left without a check", arguments: seeds)
    func whatOnlyAppleCanSettleIsChecked(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = Generator(seed: seed)
            let observations = generator.observations(Int.random(in: 1...20, using: &generator))
            let known = record(observations)
            for instant in generator.instants(of: observations) {
                let evaluation = known.at(instant)
                guard evaluation.state == .hold || evaluation.pendingVerification && evaluation.access else { continue }
                let next = Cadence.next(for: known, map: map, at: instant)
                // Unless the clock alone settles it before.
                let settled = evaluation.nextChangeAt.flatMap { change in next.map { $0.at >= change } } ?? false
                check(next?.urgency == .access || settled, "seed \(seed) at \(instant)")
            }
        }
    }

    @Test("Invariant 5: access never ends without a check before or soon after", arguments: seeds)
    func accessNeverEndsUnchecked(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = Generator(seed: seed)
            let observations = generator.observations(Int.random(in: 1...20, using: &generator))
            let known = record(observations)
            for instant in generator.instants(of: observations) {
                let now = known.at(instant)
                guard now.access, now.kind == .autoRenewable, let end = now.nextChangeAt, end > instant,
                    !known.at(end).access, known.at(end).state != .revoked, known.lastSigned.map({ $0 < end }) ?? true
                else { continue }
                let next = Cadence.next(for: known, map: map, at: instant)
                check(next.map { $0.at <= end + .seconds(60) } ?? false, "seed \(seed) at \(instant)")
            }
        }
    }

    @Test("Invariant 10: however often nothing is new, there is an end of checks in a while", arguments: seeds)
    func checksAreBounded(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = Generator(seed: seed)
            let observations = generator.observations(Int.random(in: 1...12, using: &generator))
            let known = record(observations)
            guard let last = generator.instants(of: observations).max() else { return }
            var (instant, count) = (last, 0)
            var asked: Cadence.Asked?
            // A hold lasts a day, and is asked about at most every 5 s at its beginning and then at growing intervals.
            while let next = Cadence.next(for: known, map: map, at: instant, asked: asked), next.at - last < .days(400)
            {
                check(next.at > instant || count == 0 || asked == nil, "seed \(seed) at \(instant)")
                instant = next.at
                asked = .answered(instant)
                count += 1
                if count > 2000 { break }
            }
            let row = Cadence.row(of: known, map: map, at: instant)
            check(count <= 2000, "seed \(seed): \(row?.rawValue ?? "nothing")")
        }
    }

    @Test(
        "Apple's silence never leads to questions without a pause",
        arguments: seeds)
    func failuresAreSpaced(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = Generator(seed: seed)
            let observations = generator.observations(Int.random(in: 1...12, using: &generator))
            let known = record(observations)
            for instant in generator.instants(of: observations) {
                guard let next = Cadence.next(for: known, map: map, at: instant, asked: .failed(instant)) else {
                    continue
                }
                // Only the look before an end has its time by the end.
                let isTimed = next.row == .lastLook && next.at > instant
                check(next.at >= instant + .milliseconds(500) || isTimed, "seed \(seed): \(next) at \(instant)")
            }
        }
    }
}
