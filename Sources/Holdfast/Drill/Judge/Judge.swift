import Time

/// Judges reads by what is true and by what is broken. Pure: the same reads, lives and faults give the same verdicts.
struct Judge: Sendable {
    let bounds: Bounds
    /// Product to entitlements.
    let map: [String: Set<String>]

    /// `lifeline` must be complete up to the reading's instant.
    func verdict(on reading: Reading, of lifeline: Lifeline, faults: Faults) -> Verdict {
        var verdict: Verdict
        switch reading.outcome {
        case .failed(let why): return Verdict(readClass: .failed, detail: why)
        case .unknownCustomer: verdict = unknown(reading, lifeline, faults)
        case .answer(let answer): verdict = content(answer, lifeline, faults)
        }
        if let service = reading.service {
            verdict.levelProblem = LevelRules(bounds: bounds, faults: faults).problem(
                with: service, from: reading.gateway, at: reading.instant,
                hasAnswer: verdict.readClass != .unknownCustomer)
        } else {
            verdict.levelProblem = "it does not say how good it is"
        }
        return verdict
    }

    // MARK: What the customer may use

    private func content(_ answer: Reading.Answer, _ lifeline: Lifeline, _ faults: Faults) -> Verdict {
        let instant = answer.serverTime
        let said = answer.entitlements
        let truth = lifeline.state(at: instant).entitlements(at: instant, hold: .zero, map: map)
        if !answer.outlived.isEmpty {
            return Verdict(
                readClass: .nonPayerWithAccess,
                detail: "\(Self.list(Set(answer.outlived))) is active beyond its own validUntil")
        }
        if said.isEmpty, isBeyondKnowledge(lifeline, at: instant, faults) {
            return Verdict(
                readClass: .inventedNo,
                detail: "says that there is nothing, of an account that was opened when Redis was away")
        }
        if said == truth { return Verdict(readClass: .right) }
        let isLost = faults.isNewsLost(at: instant)
        let since = heldUpSince(at: instant, faults)
        let oldest = oldestKnowledge(at: instant, faults)
        // An event of the same millisecond may be in it or not.
        let earliest = isLost ? min(oldest, lifeline.createdAt - .milliseconds(1)) : oldest
        let known = lifeline.states(from: earliest, to: instant + .milliseconds(2))
        for (state, overSince) in known {
            guard said == state.entitlements(at: instant, hold: bounds.hold, map: map) else { continue }
            if let overSince, isLost {
                if overSince < since - bounds.told, lostWhatIsPaid(state, overSince, truth, said) { break }
                // What is canceled is asked about once, before its end.
                guard overSince >= oldest || state.isCanceled else { break }
            }
            if said != state.entitlements(at: instant, hold: .zero, map: map) { return Verdict(readClass: .held) }
            let lag = overSince.map { instant - $0 } ?? .zero
            return lag <= bounds.propagation
                ? Verdict(readClass: .behind, lag: max(.zero, lag)) : Verdict(readClass: .stale)
        }
        let isLacking = !truth.isSubset(of: said)
        return Verdict(
            readClass: isLacking ? .payerWithoutAccess : .nonPayerWithAccess,
            detail: "says \(Self.list(said)), and it is \(Self.list(truth)); "
                + "it said at \(instant.rfc3339), from \(answer.service.source): "
                + "\(answer.subscriptions.joined(separator: ", ")); the store: \(lifeline.story(until: instant))")
    }

    private func unknown(_ reading: Reading, _ lifeline: Lifeline, _ faults: Faults) -> Verdict {
        let instant = reading.instant
        let isRedisAway = faults.outages(of: .redis).contains { outage in
            instant >= outage.breaking && (outage.mended.map { instant <= $0 + bounds.liveFor } ?? true)
        }
        guard isRedisAway else { return Verdict(readClass: .failed, detail: "“not known now” while Redis is there") }
        guard lifeline.state(at: oldestKnowledge(at: instant, faults)) == .nothing else {
            return Verdict(readClass: .failed, detail: "“not known now”, and had bought before Redis was away")
        }
        return Verdict(readClass: .unknownCustomer)
    }

    /// Whether `state`, the last of `lifeline` but for what happened at `overSince`, had something then that is paid for
    /// still and is not in the answer: it ran out because nobody looked, which no lost notification excuses for long. What
    /// was never heard of is another matter.
    private func lostWhatIsPaid(
        _ state: KnownState, _ overSince: Timestamp, _ truth: Set<String>, _ said: Set<String>
    ) -> Bool {
        let had = state.entitlements(at: overSince - .milliseconds(1), hold: bounds.hold, map: map)
        return !truth.subtracting(said).isDisjoint(with: had)
    }

    /// Since when news may have been held up; `instant` when none was.
    private func heldUpSince(at instant: Timestamp, _ faults: Faults) -> Timestamp {
        min(faults.heldUpSince(at: instant, recoveryBound: bounds.recovery) ?? instant, instant)
    }

    /// The moment whose state of affairs may still be answered at `instant`.
    private func oldestKnowledge(at instant: Timestamp, _ faults: Faults) -> Timestamp {
        let bound = faults.isNewsLost(at: instant) ? bounds.found : bounds.propagation
        let oldest = heldUpSince(at: instant, faults) - bound
        // What was seen to be known is not forgotten.
        return faults.settledAt.map { max(oldest, $0 - bounds.slack) } ?? oldest
    }

    /// Whether nobody can know anything of the account, not even that there is nothing to know.
    private func isBeyondKnowledge(_ lifeline: Lifeline, at instant: Timestamp, _ faults: Faults) -> Bool {
        faults.outages(of: .redis).contains { outage in
            outage.isSurelyAway(at: instant - bounds.slack) && outage.isSurelyAway(at: instant + bounds.slack)
                && outage.broken.map { lifeline.createdAt > $0 } ?? false
        }
    }

    private static func list(_ entitlements: Set<String>) -> String {
        entitlements.isEmpty ? "nothing" : entitlements.sorted().joined(separator: ", ")
    }
}
