import Runtime
import Time

/// Breaking and mending.
extension DrillRun {
    func take(_ step: Scenario.Step) async throws {
        switch step {
        case .wait(let units): try await wait(units)
        case .kill(let part):
            say("\(part.name) is killed")
            if case .gateway(let number) = part { reader.set(number, isUp: false) }
            faults.breaks(part, at: clock.now())
            try await options.control?.kill(part)
            faults.isBroken(part, at: clock.now())
        case .start(let part): try await start(part)
        case .startEmpty(let part):
            try await options.control?.loseData(of: part)
            faults.losesData(at: clock.now())
            say("\(part.name) has lost all data")
            try await start(part)
        case .appleHangs(let losing):
            say("Apple: no notifications, and the API hangs")
            try await breakApple(#"{"sending":{"dark":true,"losePercent":\#(losing)},"api":{"dark":true}}"#)
        case .appleFails(let losing):
            say("Apple: no notifications, and the API fails")
            try await breakApple(
                #"{"sending":{"dark":true,"losePercent":\#(losing)},"api":{"dark":false,"failStatus":500}}"#)
        case .appleReturns:
            faults.mends(.apple, at: clock.now())
            try await behaveUsually()
            faults.isMended(.apple, at: clock.now())
            say("Apple is back")
        case .losesNews:
            faults.breaks(.news, at: clock.now())
            losesNews = true
            try await behaveUsually()
            faults.isBroken(.news, at: clock.now())
            say("notifications are lost, late and doubled")
        case .keepsNews:
            faults.mends(.news, at: clock.now())
            losesNews = false
            try await behaveUsually()
            faults.isMended(.news, at: clock.now())
            say("notifications are sent as they should be")
        case .untilAsked(let calls): try await untilAsked(calls)
        }
    }

    /// How the store behaves while Apple is there.
    func behaveUsually() async throws {
        let limits = options.scenario.isExact ? "true" : "false"
        let sending = losesNews ? Self.losses : "{}"
        try await store.behave(#"{"reset":true,"sending":\#(sending),"api":{"limits":\#(limits)}}"#)
    }

    /// Days are the store's. Of a third of what is lost or late its history knows nothing.
    private static let losses = """
        {"losePercent":10,"latePercent":10,"lateHours":96,"duplicatePercent":5,"unlistedPercent":33}
        """

    func start(_ part: Faults.Part) async throws {
        faults.mends(part, at: clock.now())
        try await options.control?.start(part)
        faults.isMended(part, at: clock.now())
        if case .gateway(let number) = part { reader.set(number, isUp: true) }
        say("\(part.name) is up again")
    }

    func breakApple(_ behaviour: String) async throws {
        let isFirst = !(faults.outages(of: .apple).last.map { $0.mended == nil } ?? false)
        if isFirst { faults.breaks(.apple, at: clock.now()) }
        try await store.behave(behaviour)
        if isFirst { faults.isBroken(.apple, at: clock.now()) }
    }

    func spans() -> [DrillRecord.Span] {
        faults.outages.map {
            DrillRecord.Span(
                name: $0.part.name, from: record.seconds($0.breaking),
                to: $0.mended.map(record.seconds) ?? record.end)
        }
    }
}
