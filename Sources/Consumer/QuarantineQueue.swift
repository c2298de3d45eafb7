package import Broker
package import Runtime
package import Time

/// One message in quarantine, as an operator sees it.
package struct QuarantinedMessage: Sendable, Hashable {
    package let reason: QuarantineReason
    package let quarantinedAt: Timestamp?
    package let app: String?
    package let environment: String?
    package let correlation: String?
    package let messageID: String?
    package let receivedAt: Timestamp?
    package let body: [UInt8]

    package init(_ message: BrokerMessage) {
        let headers = message.headers
        reason = QuarantineReason(
            code: headers[MessageHeader.reason] ?? "unknown", sentence: headers[MessageHeader.reasonDetail] ?? "")
        quarantinedAt = headers[MessageHeader.quarantinedAt].flatMap { Timestamp(rfc3339: $0) }
        app = headers[MessageHeader.app]
        environment = headers[MessageHeader.environment]
        correlation = headers[MessageHeader.correlation]
        receivedAt = headers[MessageHeader.receivedAt].flatMap { Timestamp(rfc3339: $0) }
        messageID = message.messageID
        body = message.body
    }
}

/// Looks into quarantine, and puts messages back to work once what was wrong with them has been mended.
package struct QuarantineQueue: Sendable {
    private let settings: BrokerSettings
    private let publisher: any MessagePublisher
    private let metrics: Metrics
    private let clock: WallClock
    private let log: Log

    /// The publisher must be started; `list` does not need it to be.
    package init(
        settings: BrokerSettings, publisher: any MessagePublisher, metrics: Metrics, clock: WallClock = .system,
        log: Log
    ) {
        self.settings = settings
        self.publisher = publisher
        self.metrics = metrics
        self.clock = clock
        self.log = log.part("quarantine")
    }

    package func count() async throws(BrokerError) -> Int {
        try await BrokerInspector(settings: settings).messageCount(of: settings.names.quarantine)
    }

    /// The oldest messages, which stay where they are.
    package func list(limit: Int = 100) async throws(BrokerError) -> [QuarantinedMessage] {
        try await BrokerInspector(settings: settings).peek(settings.names.quarantine, limit: limit)
            .map { QuarantinedMessage($0.message) }
    }

    /// The message as it comes back to work: like one that was never tried.
    package static func returned(_ message: BrokerMessage, at now: Timestamp) -> BrokerMessage {
        var message = message
        for header in [
            MessageHeader.reason, MessageHeader.reasonDetail, MessageHeader.quarantinedAt, MessageHeader.attempt,
            MessageHeader.eventAttempt,
        ] { message.headers[header] = nil }
        message.headers[MessageHeader.returnedAt] = now.rfc3339
        return message
    }

    package struct Report: Sendable, Hashable {
        /// Put back to work.
        package var returned = 0
        /// Left in quarantine.
        package var kept = 0

        package init(returned: Int = 0, kept: Int = 0) {
            self.returned = returned
            self.kept = kept
        }
    }

    /// Puts the selected messages back to work, those that are in quarantine when it is called.
    ///
    /// They come by way of the exchange `intake`, so that the ledger has them with the date at which they counted: what the
    /// gateway put into quarantine is not in it yet, and a replay judges a message by the date it was received.
    /// Every message goes round once: to `intake`, or to the end of quarantine. It is published and confirmed first and
    /// acknowledged then, so that being killed in the middle can duplicate a message and never lose one.
    package func retry(
        where isSelected: @escaping @Sendable (QuarantinedMessage) -> Bool = { _ in true }
    ) async throws -> Report {
        let count = try await count()
        guard count > 0 else { return Report() }
        let round = QuarantineRound(count: count) {
            [publisher, names = settings.names, clock, log] message throws(BrokerError) in
            let selected = isSelected(QuarantinedMessage(message))
            let message = selected ? Self.returned(message, at: clock.now()) : message
            try await publisher.publish(
                message, to: selected ? names.intake : "", routingKey: selected ? "" : names.quarantine, mandatory: true
            )
            if selected {
                log.info(
                    "put back to work", ["correlation": .init(message.headers[MessageHeader.correlation] ?? "")])
            }
            return selected
        }
        var oneAtATime = settings
        oneAtATime.prefetch = 1
        let subscription = try BrokerSubscription(
            name: "quarantine", queue: settings.names.quarantine, settings: oneAtATime, metrics: metrics, log: log
        ) { delivery in await round.settlement(for: delivery.message) }
        do { try await subscription.start() } catch {
            await subscription.drain()
            throw error
        }
        await round.end(whenIdleFor: .seconds(5))
        await subscription.drain()
        return try await round.report()
    }
}

/// One walk through quarantine: ends after as many messages as there were, at the first failure, or when none comes.
private actor QuarantineRound {
    private let move: @Sendable (BrokerMessage) async throws(BrokerError) -> Bool
    private var remaining: Int
    private var done = QuarantineQueue.Report()
    private var failure: BrokerError?
    private var isOver = false
    private var ended: CheckedContinuation<Void, Never>?
    private var idle: Task<Void, Never>?
    private var patience = Duration.zero

    init(count: Int, move: @escaping @Sendable (BrokerMessage) async throws(BrokerError) -> Bool) {
        remaining = count
        self.move = move
    }

    func settlement(for message: BrokerMessage) async -> Settlement {
        guard !isOver, remaining > 0 else { return .requeue }
        remaining -= 1
        do throws(BrokerError) {
            if try await move(message) { done.returned += 1 } else { done.kept += 1 }
        } catch {
            failure = error
            finish()
            return .requeue
        }
        if remaining == 0 { finish() } else { rearm() }
        return .acknowledge
    }

    func end(whenIdleFor patience: Duration) async {
        guard !isOver else { return }
        self.patience = patience
        rearm()
        await withCheckedContinuation { ended = $0 }
    }

    func report() throws(BrokerError) -> QuarantineQueue.Report {
        if let failure { throw failure }
        return done
    }

    /// Somebody else may have taken messages away meanwhile, and then the last one never comes.
    private func rearm() {
        idle?.cancel()
        idle = Task(name: "quarantine-idle") { [patience] in
            do { try await Task.sleep(for: patience) } catch { return }
            finish()
        }
    }

    private func finish() {
        isOver = true
        idle?.cancel()
        ended.take()?.resume()
    }
}
