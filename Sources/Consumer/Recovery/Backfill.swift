package import AppStore
package import Broker
package import CacheTier
package import Entitlements
package import Runtime
package import Time

/// Reads Apple's notification history over a stretch of time, and sends what no consumer has settled through the line: each
/// `signedPayload` as the body that Apple would have posted, into the intake exchange, marked with who asked for it.
///
/// The consumer that takes it verifies it again, as it does everything. What comes twice changes nothing.
///
/// ```swift
/// let job = RecoveryJob(name: "command-…", cause: .command, phase: .history,
///     history: BackfillProgress(from: from, until: until, lanes: 4), at: now)
/// let done = try await backfill.run(job) { job in try await store.save(job) }       // after every page
/// done.history.figures.new
/// ```
package struct Backfill: Sendable {
    package typealias Keep = @Sendable (RecoveryJob) async throws(RecoveryStore.Failure) -> Void

    package let app: AppID
    package let client: ServerAPIClient
    private let verifier: NotificationVerifier
    private let seen: SeenNotifications
    private let publisher: any MessagePublisher
    private let names: BrokerNames
    private let settings: RecoverySettings
    private let applyPatience: Duration
    private let clock: WallClock
    private let metrics: RecoveryMetrics
    private let log: Log

    /// `applyPatience` is how long it waits in the end for consumers to settle what it sent.
    package init(
        app: AppID, client: ServerAPIClient, verifier: NotificationVerifier, seen: SeenNotifications,
        publisher: any MessagePublisher, names: BrokerNames, settings: RecoverySettings = RecoverySettings(),
        applyPatience: Duration = .seconds(30), clock: WallClock = .system, metrics: Metrics = Metrics(),
        log: Log = .discarding
    ) {
        self.app = app
        self.client = client
        self.verifier = verifier
        self.seen = seen
        self.publisher = publisher
        self.names = names
        self.settings = settings
        self.applyPatience = applyPatience
        self.clock = clock
        self.metrics = RecoveryMetrics(metrics, app: app, environment: client.environment)
        self.log = log.part("backfill").with([
            "app": .init(app), "environment": .init(client.environment.rawValue),
        ])
    }

    /// How far back Apple's history reaches.
    package static func reach(in environment: StoreEnvironment) -> Duration {
        .seconds((environment == .production ? 180 : 30) * 86_400)
    }

    /// The earliest time that can be asked for now, with room for a call that waits for its turn.
    package static func earliest(in environment: StoreEnvironment, now: Timestamp) -> Timestamp {
        now - (reach(in: environment) - .seconds(1800))
    }

    /// Goes on with the job's history to its end. `keep` is told how far it is after every page; with all that it was told
    /// last, another process can go on. `missing` hears what no consumer has settled, and says what need not be sent again.
    package func run(
        _ job: RecoveryJob, missing: FoundMissing? = nil, keep: @escaping Keep
    ) async throws(RecoveryFailure) -> RecoveryJob {
        let book = BackfillBook(job, keep: keep)
        let failure = await withTaskGroup(of: RecoveryFailure?.self) { group in
            for _ in 0..<settings.lanes {
                group.addTask {
                    do throws(RecoveryFailure) { while try await self.readNext(of: book, missing) {} } catch {
                        return error
                    }
                    return nil
                }
            }
            var first: RecoveryFailure?
            for await failure in group {
                guard let failure, first == nil else { continue }
                first = failure
                group.cancelAll()
            }
            return first
        }
        if let failure { throw failure }
        await untilApplied(Array(await book.lastSent.values))
        return await book.job
    }

    // MARK: One window

    private func readNext(of book: BackfillBook, _ missing: FoundMissing?) async throws(RecoveryFailure) -> Bool {
        guard let (window, position) = await book.take() else { return false }
        let job = await book.job
        guard var pages = try self.pages(of: window, at: position) else {
            try await book.read(BackfillProgress.Figures(), of: window, next: nil, sent: nil)
            return true
        }
        var restarts = 0
        while true {
            let read: ServerAPIPages<NotificationHistoryResponse>.Read?
            switch await next(&pages) {
            case .success(let page): read = page
            case .failure(let failure):
                // Places in a list are good for a while only: then it is read from its beginning.
                guard restarts < Self.restarts, Self.isLostPlace(failure), let fresh = try self.pages(of: window) else {
                    throw .apple(failure)
                }
                log.info("a place in the notification history is no longer good", ["from": .init(window.from)])
                pages = fresh
                restarts += 1
                continue
            }
            guard let read else {
                try await book.read(BackfillProgress.Figures(), of: window, next: nil, sent: nil)
                return true
            }
            let (figures, sent) = try await handOn(read.page.notificationHistory, job, missing)
            metrics.count(figures)
            let isLast = read.next.isFinished
            try await book.read(figures, of: window, next: isLast ? nil : read.next.text, sent: sent)
            if isLast { return true }
        }
    }

    /// Nil for a window of which Apple keeps nothing any more.
    private func pages(
        of window: BackfillProgress.Window, at position: String = ""
    ) throws(RecoveryFailure) -> ServerAPIPages<NotificationHistoryResponse>? {
        let from = max(window.from, Self.earliest(in: client.environment, now: clock.now()))
        guard from < window.until else { return nil }
        do throws(ServerAPIFailure) {
            // Ahead of checks at leisure: a page tells of twenty notifications that nobody has heard of.
            guard position.isEmpty else { return try client.pages(resuming: PagePosition(text: position), .expiring) }
            return try client.notifications(NotificationHistoryFilter(from: from, to: window.until), .expiring)
        } catch { throw .apple(error) }
    }

    private func next(
        _ pages: inout ServerAPIPages<NotificationHistoryResponse>
    ) async -> Result<ServerAPIPages<NotificationHistoryResponse>.Read?, ServerAPIFailure> {
        var tries = Tries.standard
        while true {
            do throws(ServerAPIFailure) { return .success(try await pages.next()) } catch {
                guard await tries.next(isPassing: error.isRetryable, retryAfter: error.retryAfter, clock: clock) else {
                    return .failure(error)
                }
            }
        }
    }

    /// How often a window is begun anew.
    private static let restarts = 3

    private static func isLostPlace(_ failure: ServerAPIFailure) -> Bool {
        failure.code == ServerAPIErrorCode.invalidPaginationToken
            || failure.code == ServerAPIErrorCode.paginationTokenExpired
    }

    // MARK: One page

    /// What came of a page, and the UUID of the last notification that went through the line.
    private func handOn(
        _ items: [NotificationHistoryResponse.Item], _ job: RecoveryJob, _ missing: FoundMissing?
    ) async throws(RecoveryFailure) -> (BackfillProgress.Figures, sent: String?) {
        var figures = BackfillProgress.Figures()
        figures.pages = 1
        figures.sent = UInt64(items.count)
        let now = clock.now()
        var found: [(message: BrokerMessage, listed: SeenNotifications.Listed?)] = []
        var unusable: [String: Int] = [:]
        for item in items {
            if let last = item.sendAttempts.last, last.sendAttemptResult != "SUCCESS" { figures.undelivered += 1 }
            switch try judged(item.signedPayload, job, now) {
            case .fit(let message, let listed): found.append((message, listed))
            case .unfit(let reason):
                figures.unusable += 1
                unusable[reason, default: 0] += 1
            }
        }
        for (reason, count) in unusable {
            log.error(
                "the notification history has something that cannot be used",
                ["job": .init(job.name), "reason": .init(reason), "count": .init(count)])
        }
        let listed = found.compactMap(\.listed)
        var verdicts: [SeenNotifications.Verdict]
        do throws(StoreError) { verdicts = try await seen.verdicts(on: listed, of: app, in: client.environment) } catch
        {
            throw .store(error)
        }
        verdicts.reverse()
        var messages: [BrokerMessage] = []
        var sent: [SeenNotifications.Listed] = []
        for one in found {
            let verdict = one.listed == nil ? .beyondMemory : verdicts.popLast() ?? .beyondMemory
            switch verdict {
            case .known: figures.known += 1
            case .new: figures.new += 1
            case .beyondMemory: figures.beyondMemory += 1
            }
            switch job.taking {
            case .missing where verdict != .known, .all:
                if let missing, let listed = one.listed {
                    if missing.isOnItsWay(listed.uuid, at: now) { continue }
                    if verdict == .new { sent.append(listed) }
                }
                messages.append(one.message)
            case .missing, .nothing: continue
            }
        }
        try await publish(messages)
        missing?.add(sent, at: now)
        return (figures, messages.last?.messageID)
    }

    private enum Judged {
        case fit(BrokerMessage, SeenNotifications.Listed?)
        case unfit(reason: String)
    }

    /// As the gateway judges what is posted.
    private func judged(
        _ payload: String?, _ job: RecoveryJob, _ now: Timestamp
    ) throws(RecoveryFailure) -> Judged {
        guard let payload else { return .unfit(reason: "it has no payload") }
        let body = SignedBody.body(signedPayload: payload)
        let intake: NotificationVerifier.Intake
        do throws(VerificationFailure) { intake = try verifier.intake(body, now: now) } catch {
            if error.disposition != .refuse { throw .unverifiable(error) }
            return .unfit(reason: "Apple did not sign it: \(error)")
        }
        if let environment = intake.environment, environment != client.environment {
            return .unfit(reason: "it is of another environment")
        }
        let uuid = intake.notificationUUID
        let message = BrokerMessage(
            body: body,
            headers: [
                MessageHeader.app: app.rawValue, MessageHeader.environment: client.environment.rawValue,
                MessageHeader.correlation: "\(job.name):\(uuid ?? String(UInt64.random(in: .min ... .max), radix: 16))",
                MessageHeader.receivedAt: now.rfc3339, MessageHeader.history: job.name,
            ], messageID: uuid, contentType: "application/json", timestamp: now)
        guard let uuid, let signedDate = intake.signedDate else { return .fit(message, nil) }
        return .fit(message, SeenNotifications.Listed(uuid: uuid, signedDate: signedDate))
    }

    /// Returns once RabbitMQ has confirmed all of them.
    private func publish(_ messages: [BrokerMessage]) async throws(RecoveryFailure) {
        let failure = await withTaskGroup(of: BrokerError?.self) { group in
            var rest = messages[...]
            var failure: BrokerError?
            func next() {
                guard failure == nil, let message = rest.popFirst() else { return }
                group.addTask {
                    do throws(BrokerError) {
                        try await publisher.publish(message, to: names.intake, routingKey: "", mandatory: true)
                    } catch { return error }
                    return nil
                }
            }
            for _ in 0..<Self.underWay { next() }
            for await problem in group {
                failure = failure ?? problem
                next()
            }
            return failure
        }
        if let failure { throw .notTaken(failure) }
    }

    /// Few enough that what Apple sends meanwhile does not wait behind them.
    private static let underWay = 32

    /// Waits a while until consumers have settled these: whoever looks at lineages next need not ask Apple about what is
    /// on its way.
    private func untilApplied(_ uuids: [String]) async {
        let end = ContinuousClock.now + applyPatience
        for uuid in uuids {
            while ContinuousClock.now < end, !Task.isCancelled {
                do throws(StoreError) {
                    if try await seen.knows(uuid, of: app, in: client.environment) { break }
                } catch { return log.debug("not waiting for what is on its way", ["error": .init(error)]) }
                // Cancelled, the loop looks next.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
