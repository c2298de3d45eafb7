/// What is broken and mended, in which order.
struct Scenario: Sendable {
    enum Stage: String, Sendable, CaseIterable { case before, during, recovering, after }

    enum Step: Sendable {
        /// So many of the drill's units of time (`--seconds`).
        case wait(Double)
        case kill(Faults.Part)
        case start(Faults.Part)
        /// Starts Redis with nothing in it.
        case startEmpty(Faults.Part)
        /// Apple's API answers nothing, or fails; no notification comes, and with `losing` so many percent are never sent.
        case appleHangs(losing: Int), appleFails(losing: Int), appleReturns
        /// Notifications are lost, late and doubled from now on, until they are not any more.
        case losesNews, keepsNews
        /// Waits until Apple is asked about subscriptions, so many times.
        case untilAsked(Int)
    }

    let name: String
    let summary: String
    /// From the end of `before` to the last mending.
    let steps: [Step]
    /// The unit of time, unless another is asked for.
    var seconds = 12
    var accounts = 400
    /// Whether lags, calls, events and every lineage are looked at.
    var isExact = false

    static let all = [
        Scenario(
            name: "apple-outage", summary: "no notifications, the API first hangs and then fails; a third of them lost",
            steps: [.appleHangs(losing: 30), .wait(0.5), .appleFails(losing: 30), .wait(0.5), .appleReturns]),
        Scenario(
            name: "redis-outage", summary: "Redis is killed and started again",
            steps: [.kill(.redis), .wait(1), .start(.redis)]),
        Scenario(
            name: "broker-outage", summary: "RabbitMQ is killed and started again",
            steps: [.kill(.broker), .wait(1), .start(.broker)]),
        Scenario(
            name: "everything",
            summary:
                "RabbitMQ, Redis and Apple fail one after the other, a gateway is killed and started meanwhile, and "
                + "Redis comes back empty",
            steps: [
                .kill(.broker), .wait(0.5), .kill(.redis), .wait(0.5), .kill(.gateway(0)), .start(.gateway(0)),
                .wait(0.25), .appleFails(losing: 30), .wait(0.75), .startEmpty(.redis), .wait(0.5), .start(.broker),
                .wait(0.5), .appleReturns,
            ]),
        Scenario(
            name: "losses",
            summary:
                "a tenth of the notifications is lost, a tenth late by days, some come twice; Apple is dark for hours, "
                + "and consumers are killed while they ask Apple",
            steps: [
                .losesNews, .wait(1), .appleHangs(losing: 10), .wait(0.1), .appleFails(losing: 10), .wait(0.1),
                .appleReturns, .untilAsked(10), .kill(.consumer(0)), .wait(0.1), .start(.consumer(0)), .wait(0.4),
                .untilAsked(10), .kill(.consumer(1)), .wait(0.1), .start(.consumer(1)), .wait(0.4), .untilAsked(10),
                .kill(.consumer(0)), .kill(.consumer(1)), .start(.consumer(0)), .start(.consumer(1)), .wait(1),
                .keepsNews,
            ],
            seconds: 60, accounts: 120, isExact: true),
    ]

    static func named(_ name: String) throws(UsageError) -> Scenario {
        guard let found = all.first(where: { $0.name == name }) else {
            throw UsageError("there is no drill \(name); there are \(all.map(\.name).joined(separator: ", "))")
        }
        return found
    }

    /// Whether calls to Apple wait for an answer that does not come.
    var appleHangs: Bool {
        steps.contains { step in
            if case .appleHangs = step { true } else { false }
        }
    }

    /// Whether anything but Apple is broken, for which the control program is needed.
    var needsControl: Bool {
        steps.contains { step in
            switch step {
            case .kill, .start, .startEmpty: true
            case .wait, .appleHangs, .appleFails, .appleReturns, .losesNews, .keepsNews, .untilAsked: false
            }
        }
    }
}
