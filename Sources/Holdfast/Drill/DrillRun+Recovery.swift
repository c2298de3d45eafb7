import Runtime
import Time

/// Whether all is as it should be.
extension DrillRun {
    /// How long it took until all was as it should be; nil when it was not within the bound.
    func recover(since mended: Timestamp) async throws -> Duration? {
        // What is canceled is asked about at its end only, which may be a month away.
        let bound = options.bounds.recovery + (options.scenario.isExact ? lives.month : .zero)
        while true {
            let began = clock.now()
            let problem = try await firstProblem()
            guard let problem else {
                faults.recovers(at: began)
                record.unfinished = []
                return began - mended
            }
            record.unfinished = [problem]
            guard clock.now() <= mended + bound else { return nil }
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    /// What is not as it should be when nothing is broken, if anything: an account's answer on any gateway, the spools or
    /// the queues.
    func firstProblem(allowingBehind: Bool = true) async throws -> String? {
        if let problem = await queues.problem() { return problem }
        return try await sweep(stopAtFirst: true, allowingBehind: allowingBehind).first
    }

    /// Reads all accounts from all gateways, and says what is wrong with the answers if nothing is broken any more.
    func sweep(stopAtFirst: Bool, allowingBehind: Bool = true) async throws -> [String] {
        var strict = faults
        strict.recovers(at: clock.now())
        var problems: [String] = []
        var rest = accounts[...]
        while !rest.isEmpty {
            // Few at a time: the reads that are measured go on beside it.
            let portion = rest.prefix(8)
            rest = rest.dropFirst(8)
            let readings = await withTaskGroup(of: Reading.self) { [reader] group in
                for account in portion {
                    for gateway in reader.gateways.indices {
                        group.addTask { await reader.read(account, from: gateway) }
                    }
                }
                return await group.reduce(into: [Reading]()) { $0.append($1) }
            }
            try await untilKnown(readings.map(\.instant).max() ?? knownUntil)
            for reading in readings {
                guard let lifeline = lifelines[reading.customer] else { continue }
                let verdict = judge.verdict(on: reading, of: lifeline, faults: strict)
                let problem =
                    Self.problem(reading, verdict, bounds: judge.bounds)
                    ?? (allowingBehind || verdict.readClass != .behind ? nil : "\(reading.customer) is behind")
                guard let problem else { continue }
                problems.append(problem)
                if stopAtFirst { return problems }
            }
        }
        return problems
    }

    private static func problem(_ reading: Reading, _ verdict: Verdict, bounds: Bounds) -> String? {
        let whose = "gateway-\(reading.gateway + 1), \(reading.customer)"
        if verdict.isWrong {
            return "\(whose): \(verdict.readClass.words), \(verdict.detail ?? verdict.levelProblem ?? "")"
        }
        if case .answer(let answer) = reading.outcome, let since = answer.heldSince,
            answer.serverTime - since > bounds.propagation
        {
            return "\(whose): still held since \(since.rfc3339)"
        }
        return nil
    }

    /// When nothing happens any more but what time brings, all answers must be right within the bound of propagation, and
    /// nothing be left on the way.
    func endCheck() async {
        let end = ContinuousClock.now + options.bounds.propagation
        do {
            while true {
                let isLate = ContinuousClock.now >= end
                var problems = try await sweep(stopAtFirst: !isLate)
                if problems.isEmpty, let problem = await queues.problem() { problems = [problem] }
                record.unfinished = problems
                if problems.isEmpty || isLate { break }
                try await Task.sleep(for: .milliseconds(200))
            }
            try await untilKnown(clock.now())
        } catch {
            record.unfinished = ["the end could not be checked: \(error)"]
        }
        judgePending()
    }
}
