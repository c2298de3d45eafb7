package import CacheTier
package import Entitlements
package import HTTP
internal import JSON
package import Runtime
internal import Time

/// Says why a customer has or lacks something, for whoever holds a key with the scope `support`.
///
/// `GET /v1/apps/{app}/customers/{customer}/explanation?entitlement=pro&at=2026-11-30T12:00:00Z&environment=sandbox`, all
/// three optional. Always read from the store when that can be reached: support asks about what is there.
package struct ExplanationRoutes: Sendable {
    private let cache: EntitlementCache
    private let keys: BearerKeys
    private let apps: Set<AppID>
    private let clock: WallClock
    private let log: Log

    package init(
        cache: EntitlementCache, keys: BearerKeys, apps: some Sequence<AppID>, clock: WallClock = .system, log: Log
    ) {
        self.cache = cache
        self.keys = keys
        self.apps = Set(apps)
        self.clock = clock
        self.log = log
    }

    package func respond(
        to head: HTTPRequestHead, app: AppID, customer: String, correlation: String
    ) -> HTTPReply {
        do throws(ProblemError) {
            _ = try keys.authorize(head, .support, for: app).get()
            guard apps.contains(app) else {
                throw ProblemError(problem: Problem(.unknownApp, "No app of this name is set up here."))
            }
            let parameters = try ReadParameters(head, allowed: [.environment, .at, .entitlement])
            let key = CustomerKey(
                app: app, environment: parameters.environment,
                customer: try ReadParameters.checked(customer: customer))
            return .later { await explain(key, parameters, correlation) }
        } catch {
            return .now(error.problem.response(correlation: correlation))
        }
    }

    private func explain(
        _ key: CustomerKey, _ parameters: ReadParameters, _ correlation: String
    ) async -> HTTPResponse {
        let now = clock.now()
        do throws(ReadFailure) {
            let (explanation, answer) = try await cache.explain(
                parameters.entitlement, of: key, at: parameters.instant ?? now)
            let headers: HTTPHeaders = [
                "Holdfast-Service-Level": answer.level.rawValue, "Correlation-ID": correlation,
                "Cache-Control": "private, max-age=0", "Content-Type": "application/json",
            ]
            return HTTPResponse(status: 200, headers: headers, body: json(explanation, answer, serverTime: now))
        } catch {
            log.warning(
                "an explanation could not be given", ["correlation": .init(correlation), "error": .init(error)])
            return Problem(
                .storeUnreachable, "What is known of the customer cannot be read at this moment. Ask again.",
                headers: ["Retry-After": "1"]
            ).response(correlation: correlation)
        }
    }

    private func json(_ explanation: Explanation, _ answer: Answer, serverTime: Timestamp) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        answer.writeHead(to: &json, serverTime: serverTime)
        explanation.write(to: &json)
        json.endObject()
        return json.bytes
    }
}
