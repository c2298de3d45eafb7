package import CacheTier
package import Entitlements
package import HTTP
package import Runtime
internal import Time

/// Answers what a customer has, for whoever holds a key with the scope `read`.
///
/// `GET /v1/apps/{app}/customers/{customer}/entitlements?environment=production|sandbox&at=TIME&refresh=true` (production
/// and now by default). From memory it answers on the spot; otherwise it waits for Redis. It never waits for Apple, unless
/// `refresh` asks for that, and then in time (`Refresher`).
package struct EntitlementRoutes: Sendable {
    private let cache: EntitlementCache
    private let keys: BearerKeys
    private let refresher: Refresher
    private let rules: [AppID: StoreRules]
    private let apps: [AppID: ReadMetrics]
    private let maximumAge: Duration
    private let clock: WallClock
    private let unanswered: RareWarning

    /// `rules` say who has a purchase once Apple has told of it; `maximumAge` is how long a backend may use an answer of
    /// level S again without asking.
    package init(
        cache: EntitlementCache, refresher: Refresher, rules: [AppID: StoreRules] = [:], keys: BearerKeys,
        apps: some Sequence<AppID>, maximumAge: Duration = .seconds(10),
        clock: WallClock = .system, metrics: Metrics, log: Log
    ) {
        self.cache = cache
        self.refresher = refresher
        self.rules = rules
        self.keys = keys
        self.apps = Dictionary(apps.map { ($0, ReadMetrics(metrics, app: $0)) }) { first, _ in first }
        self.maximumAge = maximumAge
        self.clock = clock
        unanswered = RareWarning("a read could not be answered", log: log)
    }

    package func respond(
        to head: HTTPRequestHead, app: AppID, customer: String, correlation: String
    ) -> HTTPReply {
        let key: CustomerKey
        let parameters: ReadParameters
        do throws(ProblemError) {
            _ = try keys.authorize(head, .read, for: app).get()
            guard apps[app] != nil else {
                throw ProblemError(problem: Problem(.unknownApp, "No app of this name is set up here."))
            }
            parameters = try ReadParameters(head, allowed: [.environment, .at, .refresh])
            key = CustomerKey(
                app: app, environment: parameters.environment,
                customer: try ReadParameters.checked(customer: customer))
        } catch {
            return .now(error.problem.response(correlation: correlation))
        }
        let started = ContinuousClock.now
        if parameters.isRefresh {
            return .later { await refresh(key, at: parameters.instant, for: head, correlation, since: started) }
        }
        if let answer = cache.answer(for: key, at: parameters.instant ?? clock.now()) {
            return .now(response(answer, to: head, asOf: parameters.instant, correlation, since: started))
        }
        return .later { await load(key, at: parameters.instant, for: head, correlation, since: started) }
    }

    private func load(
        _ key: CustomerKey, at instant: Timestamp?, for head: HTTPRequestHead, _ correlation: String,
        since started: ContinuousClock.Instant
    ) async -> HTTPResponse {
        do throws(ReadFailure) {
            let answer = try await cache.load(key, at: instant)
            return response(answer, to: head, asOf: instant, correlation, since: started)
        } catch {
            return failed(error, key, correlation)
        }
    }

    private func failed(_ error: ReadFailure, _ key: CustomerKey, _ correlation: String) -> HTTPResponse {
        apps[key.app]?.failed.increment()
        unanswered.warn { ["correlation": .init(correlation), "error": .init(error), "times": $0] }
        return Problem.response(to: error, about: key, cache, correlation: correlation)
    }

    /// Asks Apple, and answers by what is known and what Apple said.
    private func refresh(
        _ key: CustomerKey, at instant: Timestamp?, for head: HTTPRequestHead, _ correlation: String,
        since started: ContinuousClock.Instant
    ) async -> HTTPResponse {
        do throws(ReadFailure) {
            let known = try await cache.known(key)
            let evaluation = cache.answer(known, at: clock.now()).evaluation
            let refreshed = await refresher.refresh(key, known, evaluation, correlation: correlation)
            // Meanwhile a consumer may have applied it, or something else may have come.
            let latest = await Patience.wait(Self.readAgain) { [cache] () -> KnownCustomer? in
                do throws(ReadFailure) { return try await cache.known(key) } catch { return nil }
            }
            let policy = rules[key.app]?.transfers.policy ?? TransferRules.standard.policy
            let folded = ((latest ?? nil) ?? cache.remembered(key) ?? known).folding(refreshed.news, under: policy)
            var answer = cache.answer(folded, at: instant ?? clock.now())
            answer.refresh = refreshed.note
            return response(answer, to: head, asOf: instant, correlation, since: started)
        } catch {
            return failed(error, key, correlation)
        }
    }

    /// How long the customer may take to be read again once Apple has spoken.
    private static let readAgain = Duration.milliseconds(250)

    private func response(
        _ answer: Answer, to head: HTTPRequestHead, asOf instant: Timestamp?, _ correlation: String,
        since started: ContinuousClock.Instant
    ) -> HTTPResponse {
        let now = clock.now()
        let tag = EntityTag.of(answer)
        var headers: HTTPHeaders = [
            "ETag": tag, "Holdfast-Service-Level": answer.level.rawValue, "Correlation-ID": correlation,
        ]
        let isReusable = instant == nil && answer.refresh == nil
        headers.append("Cache-Control", "private, max-age=\(isReusable ? age(of: answer, at: now) : 0)")
        // What one key may see another may not.
        headers.append("Vary", "Authorization")
        apps[answer.app]?.wasAnswered(answer, after: .now - started)
        // Who wants Apple to be asked wants to hear what came of it, be it nothing new.
        if answer.refresh == nil, EntityTag.matches(tag, head.headers) {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.append("Content-Type", "application/json")
        return HTTPResponse(status: 200, headers: headers, body: answer.json(serverTime: now))
    }

    /// Seconds for which a backend may use the answer again: never past its next change (invariant 9), and not at all when
    /// it is not of the best, or when nothing is known yet and a purchase may be on its way.
    private func age(of answer: Answer, at now: Timestamp) -> Int64 {
        guard answer.level == .s, answer.revision > 0 else { return 0 }
        let bound = min(maximumAge, .seconds(60)).components.seconds
        guard let change = answer.evaluation.nextChangeAt else { return bound }
        return max(0, min(bound, (change - now).components.seconds))
    }
}
