internal import AppStore
internal import Broker
package import Consumer
package import Entitlements
package import Time

/// Which messages of the ledger count.
package struct ReplayScope: Sendable {
    /// nil: all apps of the settings, and the rest is counted as the consumer would: in quarantine.
    package var app: AppID?
    package var environment: StoreEnvironment?
    /// Only what was received up to then, and what is known to have been.
    package var receivedUntil: Timestamp?
    package var receivedSince: Timestamp?

    package init(
        app: AppID? = nil, environment: StoreEnvironment? = nil, receivedSince: Timestamp? = nil,
        receivedUntil: Timestamp? = nil
    ) {
        self.app = app
        self.environment = environment
        self.receivedSince = receivedSince
        self.receivedUntil = receivedUntil
    }

    func holds(_ message: LedgerMessage, receivedAt: Timestamp?) -> Bool {
        if let app, let name = message.app, name != app.rawValue { return false }
        if let receivedUntil { guard let receivedAt, receivedAt <= receivedUntil else { return false } }
        if let receivedSince { guard let receivedAt, receivedAt >= receivedSince else { return false } }
        return true
    }

    package func holds(_ lineage: LineageID) -> Bool {
        (app == nil || lineage.app == app) && (environment == nil || lineage.environment == environment)
    }
}

/// Reads messages, judges each as the consumer does, as of the date it was received, and hands them on in their order.
package struct Replayer: Sendable {
    private let decoder: MessageDecoder
    private let scope: ReplayScope
    private let now: Timestamp
    private let workers: Int
    private let interruption: Interruption

    /// `now` is when messages count as received of which nothing says when they were.
    package init(
        decoder: MessageDecoder, scope: ReplayScope = ReplayScope(), now: Timestamp, workers: Int = 4,
        interruption: Interruption = Interruption()
    ) {
        self.decoder = decoder
        self.scope = scope
        self.now = now
        self.workers = max(1, workers)
        self.interruption = interruption
    }

    /// Goes on to the end of the source, or until somebody interrupts; then `tally` says so. At most two batches are in
    /// memory: one in work, one on its way.
    package func run(
        _ source: any MessageSource, tally: inout ReplayTally, progress: (ReplayTally) async -> Void = { _ in },
        take: ([JudgedMessage]) async throws(ReplayError) -> Void
    ) async throws(ReplayError) {
        var batch = try await source.next()
        while !batch.isEmpty {
            guard !interruption.isRequested else {
                tally.isInterrupted = true
                return
            }
            async let following = Self.following(source)
            let judged = await judge(batch)
            for message in judged { tally.count(message) }
            let result: Result<Void, ReplayError>
            do throws(ReplayError) { result = .success(try await take(judged)) } catch { result = .failure(error) }
            let next = await following
            try result.get()
            await progress(tally)
            batch = try next.get()
        }
    }

    private static func following(_ source: any MessageSource) async -> Result<[LedgerMessage], ReplayError> {
        do throws(ReplayError) { return .success(try await source.next()) } catch { return .failure(error) }
    }

    /// Several at a time: nearly all the work is checking signatures.
    private func judge(_ batch: [LedgerMessage]) async -> [JudgedMessage] {
        let size = max(1, (batch.count + workers - 1) / workers)
        let parts = stride(from: 0, to: batch.count, by: size).map { batch[$0..<min($0 + size, batch.count)] }
        return await withTaskGroup(of: (Int, [JudgedMessage]).self) { group in
            for (index, part) in parts.enumerated() {
                group.addTask {
                    var judged: [JudgedMessage] = []
                    for message in part { judged.append(await judge(message)) }
                    return (index, judged)
                }
            }
            var results = [[JudgedMessage]](repeating: [], count: parts.count)
            for await (index, judged) in group { results[index] = judged }
            return Array(results.joined())
        }
    }

    private func judge(_ message: LedgerMessage) async -> JudgedMessage {
        let receivedAt = message.receivedAt
        guard scope.holds(message, receivedAt: receivedAt) else { return JudgedMessage(message, receivedAt, .leftOut) }
        do throws(MessageRefusal) {
            if message.message.headers[PurchaseMessage.kindHeader] == PurchaseMessage.kind {
                let posted = try await decoder.decodePurchases(message.message, now: receivedAt ?? now)
                guard !posted.observations.isEmpty else {
                    let isAsked = scope.environment == nil || scope.environment == posted.message.environment
                    return JudgedMessage(message, receivedAt, isAsked ? .refusedClaim : .leftOut)
                }
                let asked = posted.observations.filter { scope.holds($0.lineage) }
                return JudgedMessage(message, receivedAt, asked.isEmpty ? .leftOut : .news(asked, .answer))
            }
            if message.message.headers[MessageHeader.kind] == StatusMessage.kind {
                let statuses = try await decoder.decodeStatuses(message.message, now: receivedAt ?? now)
                guard !statuses.observations.isEmpty else {
                    return JudgedMessage(message, receivedAt, .noted("statuses"))
                }
                let asked = statuses.observations.filter { scope.holds($0.lineage) }
                return JudgedMessage(message, receivedAt, asked.isEmpty ? .leftOut : .news(asked, .answer))
            }
            let decoded = try await decoder.decode(message.message, now: receivedAt ?? now)
            guard let observation = decoded.observation else {
                return JudgedMessage(
                    message, receivedAt, .noted(decoded.notification.payload.notificationType?.raw ?? "none"))
            }
            let asked = [observation].filter { scope.holds($0.lineage) }
            return JudgedMessage(message, receivedAt, asked.isEmpty ? .leftOut : .news(asked, decoded.cause))
        } catch { return JudgedMessage(message, receivedAt, .refused(error)) }
    }
}
