import Runtime

/// One account's life, told line by line.
struct DemoLife {
    private struct Row {
        let step: String
        let store: String
        let read: String
        let level: String
        let milliseconds: Int64?
    }

    private struct Step: Sendable {
        let name: String
        /// What the account does; nil when time does it.
        var command: String?
        /// How the name of the store's event begins.
        let event: String
        /// Whether a reading is right, given the one before the step.
        let isRight: @Sendable (_ now: DemoReader.Reading, _ before: DemoReader.Reading) -> Bool

        static let all = [
            Step(name: "buys", command: "buy", event: "SUBSCRIBED") { now, _ in now.isActive && now.state == "active" },
            Step(name: "renews", event: "DID_RENEW") { now, before in
                now.isActive && now.state == "active" && (now.expiresAt ?? "") > (before.expiresAt ?? "")
            },
            Step(name: "cancels", command: "cancel", event: "DID_CHANGE_RENEWAL_STATUS") { now, _ in
                now.isActive && now.state == "canceled"
            },
            Step(name: "reaches the end", event: "EXPIRED") { now, _ in !now.isActive && now.state == "expired" },
            Step(name: "buys again", command: "buy", event: "SUBSCRIBED") { now, _ in
                now.isActive && now.state == "active"
            },
            Step(name: "is refunded", command: "refund", event: "REFUND") { now, _ in
                !now.isActive && now.state == "revoked"
            },
        ]
    }

    private let store: SimulatorClient
    private let reader: DemoReader
    private let product: String
    private let deadline: Duration
    private let account: String
    private let began = ContinuousClock.now
    private var lastEvent: UInt64 = 0
    private var reading = DemoReader.Reading()
    private var rows: [Row] = []

    init(store: SimulatorClient, reader: DemoReader, product: String, deadline: Duration) async throws {
        self.store = store
        self.reader = reader
        self.product = product
        self.deadline = deadline
        account = try await store.createAccount()
        say("", "account \(account)")
        reading = try await reader.read(account)
        say("read", "\(reading.sentence)   [level \(reading.level)]")
    }

    /// Lives the whole life; false as soon as a read does not become what it should.
    mutating func live() async throws -> Bool {
        for step in Step.all {
            guard try await take(step) else { return false }
        }
        return true
    }

    /// Does what the step says, or waits for the store to do it by itself, and then for the read to agree.
    private mutating func take(_ step: Step) async throws -> Bool {
        say("", "— the account \(step.name)")
        let before = reading
        if let command = step.command {
            try await store.perform(command, for: account, product: command == "buy" ? product : nil)
        }
        let end = ContinuousClock.now + deadline
        var happened: ContinuousClock.Instant?
        var storeSaid = ""
        while ContinuousClock.now < end {
            for news in try await store.events(after: lastEvent, account: account) {
                lastEvent = news.sequence
                say("store", news.sentence)
                let isNotification = news.result == nil && news.name.first?.isUppercase == true
                if isNotification, news.name.hasPrefix(step.event) {
                    happened = happened ?? .now
                    storeSaid = news.name
                }
            }
            let latest = try await reader.read(account)
            if latest != reading { say("read", "\(latest.sentence)   [level \(latest.level)]") }
            reading = latest
            if let happened, step.isRight(latest, before) {
                let taken = (ContinuousClock.now - happened) / .milliseconds(1)
                rows.append(
                    Row(
                        step: step.name, store: storeSaid, read: latest.sentence, level: latest.level,
                        milliseconds: Int64(taken)))
                return true
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        say("", "the read did not agree within \(deadline)")
        rows.append(
            Row(
                step: step.name, store: storeSaid, read: "WRONG: \(reading.sentence)", level: reading.level,
                milliseconds: nil))
        return false
    }

    private func say(_ who: String, _ what: String) {
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let time = String(Int64(seconds * 1000)).leftPadded(to: 7)
        Console.line("\(time) ms  \(who.padded(to: 5))  \(what)".printable())
    }

    /// What each step came to.
    var table: String {
        let header = Row(
            step: "the account", store: "the store sent", read: "the read said", level: "level", milliseconds: nil)
        let all = [header] + rows
        let widths = (
            all.map(\.step.count).max() ?? 0, all.map(\.store.count).max() ?? 0, all.map(\.read.count).max() ?? 0
        )
        let lines = all.enumerated().map { index, row in
            let time = index == 0 ? "after" : row.milliseconds.map { "\($0) ms" } ?? "never"
            return "  \(row.step.padded(to: widths.0))  \(row.store.padded(to: widths.1))  "
                + "\(row.read.padded(to: widths.2))  \(row.level.padded(to: 5))  \(time)"
        }
        return "\n" + lines.joined(separator: "\n")
            + "\n\n  A renewal is charged before its period begins; the read says so when it begins."
            + "\n  This customer's entitlements: \(reader.address(of: account))"
    }
}

extension SimulatorClient.Event {
    fileprivate var sentence: String {
        [name, productID, result].compactMap(\.self).joined(separator: "  ")
    }
}
