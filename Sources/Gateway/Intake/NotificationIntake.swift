package import Entitlements
package import HTTP
package import Runtime
package import Time

/// Answers Apple: judges a body, makes it durable, and says 200 only then (invariant 1).
package struct NotificationIntake: Sendable {
    /// Hears, without waiting for it, that a body for an app was answered with something else than 2xx.
    package typealias TurnedAway = @Sendable (AppID, StoreEnvironment, Timestamp) -> Void

    /// What comes after this many seconds may find us able again. Apple keeps its own schedule anyway.
    private static let retryAfter = ["Retry-After": "30"]

    package let samples = RefusalSamples()
    private let apps: [AppID: IntakeMetrics]
    private let judge: IntakeJudge
    private let store: IntakeStore
    private let turnedAway: TurnedAway
    private let clock: WallClock
    private let log: Log

    package init(
        apps: some Sequence<AppID>, judge: @escaping IntakeJudge, store: IntakeStore,
        turnedAway: @escaping TurnedAway = { _, _, _ in }, clock: WallClock = .system, metrics: Metrics, log: Log
    ) {
        self.turnedAway = turnedAway
        self.apps = Dictionary(apps.map { ($0, IntakeMetrics(metrics, app: $0)) }) { first, _ in first }
        self.judge = judge
        self.store = store
        self.clock = clock
        self.log = log
    }

    package func knows(_ app: AppID) -> Bool { apps[app] != nil }

    /// The answer to a body that came for `app` at the address of `environment`.
    package func receive(
        _ body: [UInt8], app: AppID, environment: StoreEnvironment, correlation: String, peer: String
    ) async -> HTTPResponse {
        guard let metrics = apps[app] else {
            return Problem(.unknownApp, "No app of this name is set up here.").response(correlation: correlation)
        }
        let started = ContinuousClock.now
        let now = clock.now()
        let log = log.with(["correlation": .init(correlation), "app": .init(app.rawValue)])
        var message = IntakeMessage(
            headers: ["app": app.rawValue, "correlation": correlation, "received-at": now.rfc3339], body: body)
        var actual = environment
        var type = ""

        switch judge(body, now) {
        case .accept(let named, let uuid, let notificationType):
            if let named, named != environment {
                metrics.wrongEnvironment.increment()
                actual = named
                message.headers["address"] = environment.rawValue
            }
            message.messageID = uuid
            type = notificationType ?? ""
        case .quarantine(let reason, let detail):
            metrics.quarantined(reason).increment()
            log.warning("a body cannot be judged now", ["reason": .init(reason), "detail": .init(detail)])
            message.destination = .quarantine
            message.headers["reason"] = reason
        case .refuse(let reason, let detail, let isMalformed):
            metrics.refused(reason).increment()
            samples.add(
                time: now, app: app.rawValue, reason: reason, detail: detail, peer: peer, correlation: correlation,
                body: body)
            log.warning(
                "a body was refused", ["reason": .init(reason), "detail": .init(detail), "peer": .init(peer)])
            turnedAway(app, environment, now)
            return Problem(isMalformed ? .malformedNotification : .refusedNotification, detail)
                .response(correlation: correlation)
        case .later(let detail):
            metrics.deferred.increment()
            log.warning("a body was put off", ["detail": .init(detail)])
            turnedAway(app, environment, now)
            return Problem(.busy, detail, headers: Self.retryAfter).response(correlation: correlation)
        }

        message.headers["environment"] = actual.rawValue
        guard let place = await store.store(message) else {
            metrics.unstored.increment()
            turnedAway(app, actual, now)
            return Problem(.cannotStore, "Send it again later.", headers: Self.retryAfter)
                .response(correlation: correlation)
        }
        metrics.wasAcknowledged(place, actual, after: .now - started)
        log.info(
            "acknowledged",
            [
                "stored": .init(place.rawValue), "environment": .init(actual.rawValue), "type": .init(type),
                "uuid": .init(message.messageID ?? ""),
            ])
        return HTTPResponse(status: 200, headers: ["Correlation-ID": correlation])
    }
}
