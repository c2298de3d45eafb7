internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Apple's App Store Server API, under `/inApps` and `/groups`: which endpoint answers, and in which mood.
extension Simulator {
    nonisolated func apiResponse(to request: HTTPRequest, _ path: [String]) async -> HTTPResponse {
        guard let (route, values) = ServerAPIRoute.find(request.method, path) else {
            return await response(to: request, path)
        }
        let account = await begin(route, about: values.first ?? "")
        let response = await response(to: request, path)
        await end(route, about: account, response)
        return response
    }

    /// Whom the call is about, if it names a transaction.
    private func begin(_ route: ServerAPIRoute, about id: String) -> String? {
        let account = store.transactions[id]?.account
        calls.begin(route, about: account, at: clock.now())
        return account
    }

    private func end(_ route: ServerAPIRoute, about account: String?, _ response: HTTPResponse) {
        let isWhole =
            switch response.fault {
            case .dropped, .truncated: false
            case .dated, nil: true
            }
        let outcome: APICallLog.Outcome =
            switch response.status {
            case _ where !isWhole: .failed
            case 200..<300: .answered
            case 429: .limited
            case 500...: .failed
            default: .refused
            }
        calls.end(route, about: account, outcome, at: clock.now())
    }

    private nonisolated func response(to request: HTTPRequest, _ path: [String]) async -> HTTPResponse {
        let mood = await mood(of: ServerAPIRoute.find(request.method, path)?.route.endpoint)
        if mood.isSilent {
            await hold()
            return HTTPResponse(status: 504)
        }
        if mood.slowMilliseconds > 0 {
            // Cancelled only when the process ends, and then the answer no longer matters.
            try? await Task.sleep(for: .milliseconds(mood.slowMilliseconds))
        }
        var response: HTTPResponse
        if let failure = mood.failure {
            response = failure
        } else {
            response = await judged(request, path, mood.time)
        }
        if mood.breaks {
            response.fault = mood.drops ? .dropped : .truncated(bodyBytes: response.body.count / 2)
        } else if mood.isSkewed {
            response.fault = .dated(mood.time)
        }
        return response
    }

    /// Which mood the API is in for one request.
    private struct Mood: Sendable {
        var isSilent = false
        var slowMilliseconds = 0
        var failure: HTTPResponse?
        var drops = false
        var truncates = false
        /// What the API's clock says.
        var time: Timestamp
        var isSkewed = false

        var breaks: Bool { drops || truncates }
    }

    private func mood(of endpoint: ServerAPIRoute.Endpoint?) -> Mood {
        let behaviour = apiBehaviour
        let now = clock.now()
        var mood = Mood(time: now + .milliseconds(behaviour.clockSkewMilliseconds))
        mood.isSkewed = behaviour.clockSkewMilliseconds != 0
        mood.isSilent = behaviour.isDark || random.happens(behaviour.losePercent)
        mood.slowMilliseconds = behaviour.slowMilliseconds
        mood.drops = random.happens(behaviour.dropPercent)
        mood.truncates = random.happens(behaviour.truncatePercent)
        for outage in behaviour.outages where outage.concerns(endpoint, at: now) && random.happens(outage.percent) {
            switch outage.kind {
            case .hang: mood.isSilent = true
            case .reset: mood.drops = true
            case .error: mood.failure = HTTPResponse(status: outage.status)
            case .slow: mood.slowMilliseconds = max(mood.slowMilliseconds, outage.milliseconds)
            }
        }
        guard behaviour.failStatus > 0 || behaviour.failCode > 0, random.happens(behaviour.failPercent) else {
            return mood
        }
        guard behaviour.failFirst == 0 || apiFailures < behaviour.failFirst else { return mood }
        apiFailures += 1
        if behaviour.failCode > 0 {
            let error = APIError(code: Int64(behaviour.failCode))
            mood.failure = error == .rateLimited ? limited(until: now + .seconds(1)) : error.response
        } else {
            mood.failure = HTTPResponse(status: behaviour.failStatus)
        }
        return mood
    }

    /// Admits or refuses, and answers.
    private nonisolated func judged(_ request: HTTPRequest, _ path: [String], _ time: Timestamp) async -> HTTPResponse {
        guard tokens.accepts(authorization: request.headers["Authorization"], at: time),
            !(await apiBehaviour.refusesTokens)
        else { return HTTPResponse(status: 401) }
        guard let (route, values) = ServerAPIRoute.find(request.method, path),
            !route.isSandboxOnly || settings.store.environment == .sandbox
        else { return HTTPResponse(status: 404) }
        if let retryAfter = await admit(route.limit) { return limited(until: retryAfter) }
        do {
            return try await answer(request, route.endpoint, values)
        } catch let error as APIError {
            return error.response
        } catch {
            log.error("not answered", ["path": .init(request.path), "error": .init(error)])
            return APIError.internalError.response
        }
    }

    private func admit(_ limit: ServerAPIRoute.Limit) -> Timestamp? {
        let now = clock.now()
        let isSandbox = settings.store.environment == .sandbox
        return limits.admit(limit, apiBehaviour, isSandbox: isSandbox, at: now)
            ?? rate.admit(apiBehaviour.ratePerSecond, at: now)
    }

    /// Apple says in UNIX milliseconds when to come again.
    private nonisolated func limited(until time: Timestamp) -> HTTPResponse {
        var response = APIError.rateLimited.response
        response.headers.set("Retry-After", String(time.milliseconds))
        return response
    }

    private nonisolated func answer(
        _ request: HTTPRequest, _ endpoint: ServerAPIRoute.Endpoint, _ values: [String]
    ) async throws -> HTTPResponse {
        let id = values.first ?? ""
        return switch endpoint {
        case .massExtend: try await massExtend(request)
        case .massExtendStatus: try await massExtendStatus(id, values.last ?? "")
        case .extend: try await extend(id, request)
        case .statuses: try await statuses(of: id, request)
        case .historyV1: try await history(of: id, request, version: 1)
        case .historyV2: try await history(of: id, request, version: 2)
        case .transaction: try await transactionInfo(id)
        case .finish: try await finish(id)
        case .appTransaction: try await appTransactionInfo(id)
        case .setAccountToken: try await setAccountToken(id, request)
        case .consumptionV1: try await consumption(id, request, version: 1)
        case .consumptionV2: try await consumption(id, request, version: 2)
        case .order: try await order(id)
        case .refunds: try await refunds(of: id, request)
        case .requestTest: try await sendTest()
        case .testStatus: try await testStatus(id)
        case .notificationHistory: try await notificationHistory(request)
        case .groups: try await groups(of: id)
        case .groupMembers: try await groupMembers(id, request)
        case .claimSeat: try await claimSeat(id, request)
        case .seatInfo: try await seatInfo(id)
        case .unclaimSeat: try await unclaimSeat(id, values.last ?? "")
        case .associateSeat: try await associateSeat(id, values.last ?? "", request)
        }
    }

    nonisolated func apiObject(
        _ capacity: Int = 256, _ members: (inout JSONWriter) throws -> Void
    ) rethrows -> HTTPResponse {
        var json = JSONWriter(reservingCapacity: capacity)
        json.beginObject()
        try members(&json)
        json.endObject()
        return .json(json.bytes)
    }
}
