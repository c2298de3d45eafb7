internal import Entitlements
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Tells answers from errors, and says of an error what it is.
struct ServerAPIJudge {
    let endpoint: ServerAPIEndpoint
    let environment: StoreEnvironment
    let skew: Duration?
    /// Whether the answer's `Date` was too far off to be believed.
    var isDateDoubtful = false
    let localNow: Timestamp

    func answer(_ response: HTTPClientResponse) throws(ServerAPIFailure) -> ServerAPIAnswer {
        guard (200..<300).contains(response.status) else { throw failure(response) }
        let body = response.body
        if endpoint.answersNothing || body.isEmpty {
            guard endpoint.answersNothing else { throw unreadable(response, "the answer is empty") }
            return ServerAPIAnswer(status: response.status, body: body, object: JSONObject())
        }
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(body) } catch {
            throw unreadable(response, "the answer is not JSON: \(error)")
        }
        guard let object = value.object else { throw unreadable(response, "the answer is no JSON object") }
        return ServerAPIAnswer(status: response.status, body: body, object: object)
    }

    /// How long a 429 asks to wait.
    func delay(_ response: HTTPClientResponse) -> Duration {
        RetryAfter.delay(response.headers["Retry-After"], serverNow: localNow + (skew ?? .zero))
    }

    private func unreadable(_ response: HTTPClientResponse, _ message: String) -> ServerAPIFailure {
        ServerAPIFailure(.unreadable, endpoint, message + typeOf(response), status: response.status)
    }

    private func typeOf(_ response: HTTPClientResponse) -> String {
        response.headers["Content-Type"].map { " (it calls itself \(quoted($0)))" } ?? ""
    }

    private func failure(_ response: HTTPClientResponse) -> ServerAPIFailure {
        let status = response.status
        // Whatever content type it claims: a proxy may have changed it, and Apple's own has varied.
        let body = response.body.count <= 1 << 16 ? parsed(response.body) : nil
        let code = body?["errorCode"]?.int64
        let sentence = body?["errorMessage"]?.string.map { $0.printable() }
        let kind: ServerAPIFailure.Kind
        switch status {
        case 401: kind = .unauthorized
        case 429: kind = .rateLimited
        case 400..<500: kind = .refused
        case 500...: kind = .server
        default: kind = .unreadable
        }
        let isRetryable: Bool? =
            switch kind {
            case .refused: code.map(ServerAPIErrorCode.retryable.contains) ?? (status == 408)
            case .unreadable: false
            default: nil
            }
        var retryAfter: Timestamp?
        if kind == .rateLimited || (kind == .server && response.headers["Retry-After"] != nil) {
            retryAfter = localNow + delay(response)
        }
        return ServerAPIFailure(
            kind, endpoint, sentence ?? explanation(response), status: status, code: code, isRetryable: isRetryable,
            retryAfter: retryAfter)
    }

    private func parsed(_ body: [UInt8]) -> JSONValue? {
        do throws(JSONError) { return try JSONValue.parse(body, maximumDepth: 8) } catch { return nil }
    }

    private func explanation(_ response: HTTPClientResponse) -> String {
        switch response.status {
        case 401:
            "Apple does not accept the token, and never says why. Usual causes: the key is not an In-App Purchase key "
                + "(App Store Connect: Users and Access, Integrations, In-App Purchase); keyId, issuerId and key do not "
                + "belong together, or the bundle id is another team's; "
                + (environment == .production
                    ? "the app has never been released, and production answers 401 until then (use the sandbox); " : "")
                + "this machine's clock is wrong "
                + (skew.map { "(Apple's is ahead by \($0 / .seconds(1)) s, which was taken into account)" }
                    ?? (isDateDoubtful
                        ? "(the answer's Date is more than \(ServerClock.believable / .seconds(3600)) h away from it; a proxy's?)"
                        : "(Apple's time is not known)"))
        case 429: "Apple's rate limit is exceeded"
        case 300..<400: "a redirect, which Apple never sends: is there a proxy, or is the URL in the settings wrong?"
        case let status:
            "an answer \(status) without an error number of Apple's\(typeOf(response)): is there a proxy in between?"
        }
    }
}

extension ServerAPIEndpoint {
    /// Where 2xx is all that is said.
    package var answersNothing: Bool {
        switch self {
        case .finish, .setAccountToken, .consumption, .consumptionV1, .releaseSeat, .associateSeat: true
        default: false
        }
    }
}

extension ServerAPIFailure {
    init(_ error: HTTPClientError, _ endpoint: ServerAPIEndpoint, url: String) {
        let (kind, isRetryable): (Kind, Bool?) =
            switch error.code {
            case .unreachable: (.unreachable, nil)
            case .timedOut: (.timedOut, nil)
            case .tls: (.tls, nil)
            case .connectionLost, .failed: (.connectionLost, nil)
            case .malformedResponse: (.unreadable, nil)
            case .tooLarge: (.unreadable, false)
            case .invalidRequest: (.invalidRequest, nil)
            case .overloaded: (.budget, nil)
            case .cancelled: (.cancelled, nil)
            }
        self.init(kind, endpoint, "\(url): \(error.detail)", isRetryable: isRetryable)
    }
}
