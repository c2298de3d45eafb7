import AppStore

/// What is allowed for, as the settings and the drill's options state it.
struct Bounds: Sendable {
    /// From an event in the store until every answer has it, while nothing is broken.
    var propagation: Duration = .seconds(5)
    /// The same while notifications are lost or late, for what the notification history tells …
    var told: Duration = .seconds(10)
    /// … and for whatever only asking about the subscription finds; of one that is canceled, its end.
    var found: Duration = .seconds(45)
    /// `apps.<id>.holdBound`.
    var hold: Duration = .seconds(86_400)
    /// `cache.liveFor`.
    var liveFor: Duration = .seconds(5)
    /// From the last mending until all is as it should be.
    var recovery: Duration = .seconds(60)
    /// From the moment Apple is gone until no answer says S, and until all say B.
    var appleNoticed: Duration = .seconds(15)
    var appleUnreachable: Duration = .seconds(60)
    /// What two clocks' readings may differ by, and a command's end may be noticed late.
    var slack: Duration = .seconds(1)
}

extension Bounds {
    /// How soon Apple's absence must show: by how often it is asked, and, if it hangs, how long is waited for an answer.
    mutating func setApple(by health: AppleHealthSettings, patience: Duration) {
        // Probes come up to a fifth late.
        let probe = health.probeEvery * 1.2 + patience + slack
        appleNoticed = probe
        appleUnreachable = probe * max(1, health.unreachableAfter)
    }
}
