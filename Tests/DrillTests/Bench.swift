import CacheTier
import Time

@testable import Holdfast

/// A customer's life, what is broken, and reads of it, all at seconds since a beginning.
struct Bench {
    static let map = ["premium": Set(["premium", "basic"]), "basic": Set(["basic"])]
    static let epoch = Timestamp(milliseconds: 1_800_000_000_000)

    static func at(_ seconds: Double) -> Timestamp { epoch + .milliseconds(Int64(seconds * 1000)) }

    var bounds = Bounds(
        propagation: .seconds(2), hold: .seconds(30), liveFor: .seconds(5), recovery: .seconds(20),
        appleNoticed: .seconds(3), appleUnreachable: .seconds(10), slack: .seconds(1))
    var lifeline: Lifeline
    var faults = Faults()

    init(openedAt opened: Double = -100) { lifeline = Lifeline(createdAt: Self.at(opened)) }

    /// From `since` on the account's only purchase is as given.
    mutating func happens(
        _ since: Double, _ state: KnownState.State, _ product: String = "premium", until: Double? = nil
    ) {
        let purchase = KnownState.Purchase(product: product, state: state, until: until.map(Self.at))
        lifeline.add(KnownState(purchases: [purchase]), since: Self.at(since))
    }

    /// Breaks a part; breaking and mending take a tenth of a second.
    mutating func breaks(_ part: Faults.Part, _ from: Double, until end: Double? = nil) {
        faults.breaks(part, at: Self.at(from))
        faults.isBroken(part, at: Self.at(from + 0.1))
        guard let end else { return }
        faults.mends(part, at: Self.at(end))
        faults.isMended(part, at: Self.at(end + 0.1))
    }

    /// The verdict on an answer.
    func verdict(
        at seconds: Double, _ entitlements: Set<String>, level: ServiceLevel = .s, reason: String = "current",
        asOf: Double? = nil, gateway: Int = 0, source: String = "memory", outlived: [String] = [],
        actionsFit: Bool = true
    ) -> Verdict {
        judge(
            .answer(
                Reading.Answer(
                    serverTime: Self.at(seconds), entitlements: entitlements, outlived: outlived,
                    service: service(level, reason, asOf ?? seconds, source, actionsFit))),
            at: seconds, gateway: gateway)
    }

    /// The verdict on "not known now".
    func verdictOnUnknown(at seconds: Double, level: ServiceLevel = .a, reason: String = "storeSilent") -> Verdict {
        judge(.unknownCustomer(service(level, reason, seconds, "none", true)), at: seconds, gateway: 0)
    }

    func judge(_ outcome: Reading.Outcome, at seconds: Double, gateway: Int) -> Verdict {
        let reading = Reading(
            customer: "somebody", gateway: gateway, sentAt: Self.at(seconds), latency: .zero, outcome: outcome)
        return Judge(bounds: bounds, map: Self.map).verdict(on: reading, of: lifeline, faults: faults)
    }

    private func service(
        _ level: ServiceLevel, _ reason: String, _ asOf: Double, _ source: String, _ actionsFit: Bool
    ) -> Reading.Service {
        Reading.Service(level: level, reason: reason, source: source, asOf: Self.at(asOf), actionsFit: actionsFit)
    }
}
