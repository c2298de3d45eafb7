package import Entitlements
package import HTTP
internal import JSON
package import Runtime
internal import Time

/// Calls the App Store Server API for one app in one environment.
///
/// ```swift
/// let http = HTTPClient(settings: settings.http, loop: try EventLoop(name: "app-store-api"))   // one for all clients
/// let client = ServerAPIClient(
///     bundleID: app.identity.bundleID, environment: .production, key: key, settings: settings, http: http,
///     budget: CallQueue(bucket: LocalCallBucket(settings: settings.budget)), metrics: metrics, log: log)
/// let token = try await client.requestTestNotification(.support).testNotificationToken
/// let fate = try await client.testNotificationStatus(token, .support)     // 4040008 until Apple has tried
/// client.skew                                                             // how far Apple's clock is ahead of ours
/// await http.close()
/// ```
///
/// There is a method for each endpoint (`ServerAPIClient+Calls.swift`); all throw `ServerAPIFailure`, whose
/// `isRetryable` and `retryAfter` say whether and when trying again makes sense. Nothing is tried again here, with one
/// exception: a 401 whose `Date` shows that our clock was far off when the token was made is answered by a new token,
/// once. Every call, this one too, first waits for its turn in the budget. Safe to use from any task.
package final class ServerAPIClient: Sendable {
    package let bundleID: String
    package let environment: StoreEnvironment
    private let baseURL: String
    private let settings: ServerAPISettings
    private let http: HTTPClient
    private let budget: any CallBudget
    private let tokens: ServerAPITokens
    private let clock: ServerClock
    private let metrics: ServerAPIMetrics
    private let onOutcome: (@Sendable (ServerAPIOutcome) -> Void)?

    /// `onOutcome` hears how each call ended, before its caller does; it must not wait for anything.
    package init(
        bundleID: String, environment: StoreEnvironment, key: ServerAPIKey, settings: ServerAPISettings,
        http: HTTPClient, budget: any CallBudget, metrics: Metrics = Metrics(), log: Log = .discarding,
        clock: WallClock = .system, onOutcome: (@Sendable (ServerAPIOutcome) -> Void)? = nil
    ) {
        self.onOutcome = onOutcome
        self.bundleID = bundleID
        self.environment = environment
        self.settings = settings
        self.http = http
        self.budget = budget
        baseURL = settings.url(of: environment)
        tokens = ServerAPITokens(
            key: key, bundleID: bundleID, life: settings.tokenLife, backdating: settings.tokenBackdating)
        self.metrics = ServerAPIMetrics(metrics, environment: environment)
        self.clock = ServerClock(
            clock, gauge: self.metrics.skew,
            log: log.part("app-store-api").with(["environment": .init(environment.rawValue)]))
    }

    /// How far the App Store's clock is ahead of ours, to a second or so; nil before the first answer that can be believed.
    package var skew: Duration? { clock.skew }

    /// Between which it must lie, given how long the last answer took.
    package var skewBounds: ClosedRange<Duration>? { clock.bounds }

    /// Makes the call and reads the answer as `Response`.
    package func call<Response: ServerAPIResponse>(
        _ request: ServerAPIRequest, _ priority: CallPriority, as: Response.Type = Response.self
    ) async throws(ServerAPIFailure) -> Response {
        let answer = try await answer(to: request, priority)
        do throws(MissingMember) { return try Response(answer) } catch {
            throw ServerAPIFailure(
                .unreadable, request.endpoint, "the answer has no \(error.name)", status: answer.status)
        }
    }

    /// Makes the call; the answer is as Apple gave it.
    package func answer(
        to request: ServerAPIRequest, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> ServerAPIAnswer {
        var sentAt: ContinuousClock.Instant?
        do throws(ServerAPIFailure) {
            let answer = try await judged(request, priority, &sentAt)
            ended(request, nil, sentAt)
            return answer
        } catch {
            ended(request, error, sentAt)
            throw error
        }
    }

    private func ended(
        _ request: ServerAPIRequest, _ failure: ServerAPIFailure?, _ sentAt: ContinuousClock.Instant?
    ) {
        metrics.count(request.endpoint.group, failure)
        onOutcome?(ServerAPIOutcome(request.endpoint, failure: failure, sentAt: sentAt, endedAt: .now))
    }

    // MARK: One call

    private func judged(
        _ request: ServerAPIRequest, _ priority: CallPriority, _ sentAt: inout ContinuousClock.Instant?
    ) async throws(ServerAPIFailure) -> ServerAPIAnswer {
        let assumedSkew = clock.skew ?? .zero
        var response = try await exchange(request, priority, &sentAt)
        if response.status == 401, let skew = clock.skew {
            let change = skew - assumedSkew
            if change >= ServerClock.large || change <= .zero - ServerClock.large {
                tokens.discard()
                response = try await exchange(request, priority, &sentAt)
            }
        }
        let judge = ServerAPIJudge(
            endpoint: request.endpoint, environment: environment, skew: clock.skew,
            isDateDoubtful: clock.isDoubtful, localNow: clock.localNow)
        if response.status == 429 {
            await budget.pause(lane(of: request), for: judge.delay(response))
        }
        return try judge.answer(response)
    }

    private func lane(of request: ServerAPIRequest) -> CallLane {
        CallLane(bundleID: bundleID, environment: environment, group: request.endpoint.group)
    }

    private func exchange(
        _ request: ServerAPIRequest, _ priority: CallPriority, _ sentAt: inout ContinuousClock.Instant?
    ) async throws(ServerAPIFailure) -> HTTPClientResponse {
        sentAt = nil
        try await waitForTurn(request, priority)
        let message = try message(for: request)
        let began = ContinuousClock.now
        sentAt = began
        let sent = clock.localNow
        do throws(HTTPClientError) {
            let response = try await http.send(message)
            metrics.answered(request.endpoint.group, after: .now - began)
            clock.observe(response.headers["Date"], sent: sent, received: sent + (.now - began))
            return response
        } catch {
            throw ServerAPIFailure(error, request.endpoint, url: baseURL)
        }
    }

    private func waitForTurn(_ request: ServerAPIRequest, _ priority: CallPriority) async throws(ServerAPIFailure) {
        let began = ContinuousClock.now
        defer { metrics.waited(priority, .now - began) }
        let patience = settings.patience(of: priority)
        do throws(CallRefusal) {
            try await budget.admit(lane(of: request), priority, within: patience)
        } catch {
            switch error {
            case .noRoom(let delay):
                throw ServerAPIFailure(
                    .budget, request.endpoint,
                    "Apple's rate limit for this kind of call is used up, or Apple has asked to pause; a call of priority "
                        + "\(priority.name) waits for at most \(patience)",
                    retryAfter: clock.localNow + delay)
            case .overloaded:
                throw ServerAPIFailure(.budget, request.endpoint, "too many calls wait for their turn already")
            case .cancelled: throw ServerAPIFailure(.cancelled, request.endpoint, "the caller no longer waits")
            }
        }
    }

    private func message(for request: ServerAPIRequest) throws(ServerAPIFailure) -> HTTPClientRequest {
        let token: String
        do throws(SigningError) { token = try tokens.token(at: clock.now) } catch {
            throw ServerAPIFailure(.key, request.endpoint, error.description)
        }
        var headers: HTTPHeaders = ["Authorization": "Bearer \(token)", "Accept": "application/json"]
        let body = request.body
        if body != nil { headers.append("Content-Type", "application/json") }
        let method: HTTPClientRequest.Method =
            switch request.endpoint.method {
            case .get: .get
            case .post: .post
            case .put: .put
            case .delete: .delete
            }
        return HTTPClientRequest(method, baseURL + request.target, headers: headers, body: body ?? [])
    }
}
