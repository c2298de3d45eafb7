import CacheTier
import Time

/// Which levels and reasons can be true, given what is broken. The worse of Redis' and Apple's side wins.
///
/// | broken | allowed |
/// |---|---|
/// | nothing | S |
/// | Redis, for up to `cache.liveFor` | S, A |
/// | Redis, for longer | A; B of a gateway that was started meanwhile |
/// | Apple, not noticed yet | S, A, B |
/// | Apple, for longer than it takes to notice a failed call | A, B |
/// | Apple, for longer than it takes to see three fail | B |
/// | mended, and not recovered yet | any that was allowed before, and S |
struct LevelRules: Sendable {
    let bounds: Bounds
    let faults: Faults

    /// Why what `service` says cannot be true at `instant`; nil when it can.
    func problem(with service: Reading.Service, from gateway: Int, at instant: Timestamp, hasAnswer: Bool) -> String? {
        let allowed = levels(of: gateway, at: instant)
        guard allowed.contains(service.level) else {
            let names = allowed.sorted().map(\.rawValue).joined(separator: " or ")
            return "level \(service.level.rawValue) (\(service.reason)) where it is \(names)"
        }
        if let problem = problem(withReason: service, at: instant) { return problem }
        if !service.actionsFit { return "the actions do not fit level \(service.level.rawValue)" }
        if hasAnswer, let asOf = service.asOf, let outage = faults.last(.redis, by: instant),
            outage.isSurelyAway(at: instant), let broken = outage.broken, asOf > broken + bounds.slack
        {
            return "asOf \(asOf.rfc3339), and Redis was gone at \(broken.rfc3339)"
        }
        return nil
    }

    private func levels(of gateway: Int, at instant: Timestamp) -> Set<ServiceLevel> {
        let store = storeLevels(of: gateway, at: instant)
        let apple = appleLevels(at: instant)
        return Set(store.flatMap { store in apple.map { max(store, $0) } })
    }

    private func storeLevels(of gateway: Int, at instant: Timestamp) -> Set<ServiceLevel> {
        guard let outage = faults.last(.redis, by: instant) else { return [.s] }
        let isCold = startedDuring(outage, gateway, by: instant)
        if let broken = outage.broken, outage.isSurelyAway(at: instant) {
            // A gateway that was started without Redis knows at once that it knows nothing.
            if isCold { return [.b] }
            return instant > broken + bounds.liveFor + bounds.slack ? [.a] : [.s, .a]
        }
        if outage.mayBeAway(at: instant) || isRecovering(at: instant) { return isCold ? [.s, .a, .b] : [.s, .a] }
        return [.s]
    }

    private func startedDuring(_ outage: Faults.Outage, _ gateway: Int, by instant: Timestamp) -> Bool {
        faults.outages(of: .gateway(gateway)).contains { restart in
            guard let started = restart.mending, started <= instant else { return false }
            return started >= outage.breaking && (outage.mended.map { started <= $0 } ?? true)
        }
    }

    private func appleLevels(at instant: Timestamp) -> Set<ServiceLevel> {
        guard let outage = faults.last(.apple, by: instant) else { return [.s] }
        guard let broken = outage.broken, outage.isSurelyAway(at: instant) else {
            return outage.mayBeAway(at: instant) || isRecovering(at: instant) ? [.s, .a, .b] : [.s]
        }
        if instant > broken + bounds.appleUnreachable { return [.b] }
        return instant > broken + bounds.appleNoticed ? [.a, .b] : [.s, .a, .b]
    }

    private func isRecovering(at instant: Timestamp) -> Bool {
        faults.heldUpSince(at: instant, recoveryBound: bounds.recovery) != nil
    }

    /// A reason must belong to the level and be about something that is, or was, broken. Reasons that this version does
    /// not know are let through.
    private func problem(withReason service: Reading.Service, at instant: Timestamp) -> String? {
        func untrue(_ why: String) -> String { "reason \(service.reason) at level \(service.level.rawValue): \(why)" }
        if service.level == .s, service.reason != ServiceReason.current.rawValue { return untrue("S needs none") }
        guard let reason = ServiceReason(rawValue: service.reason) else { return nil }
        let wasRedisAway = faults.last(.redis, by: instant) != nil
        switch reason {
        case .current: return service.level == .s ? nil : untrue("nothing is wrong, and yet not S")
        case .storeSilent, .storeSilentTooLong: return wasRedisAway ? nil : untrue("Redis was never away")
        case .storeReplaced: return faults.dataLostAt != nil ? nil : untrue("Redis lost nothing")
        case .appleSlow, .appleUnreachable:
            return faults.last(.apple, by: instant) != nil ? nil : untrue("Apple was never away")
        default: return nil
        }
    }
}
