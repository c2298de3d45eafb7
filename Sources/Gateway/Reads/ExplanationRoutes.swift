package import CacheTier
package import Entitlements
package import HTTP
internal import JSON
package import Runtime
internal import Time

/// Says why a customer has or lacks something, for whoever holds a key with the scope `support`.
///
/// `GET /v1/apps/{app}/customers/{customer}/explanation?entitlement=pro&at=2026-11-30T12:00:00Z&environment=sandbox`
/// and `&history=true`, all optional. Always read from the store when that can be reached: support asks about what is
/// there. While the store cannot be reached, there is an explanation from memory, without the history.
package struct ExplanationRoutes: Sendable {
    private let cache: EntitlementCache
    private let archive: any LineageArchive
    private let keys: BearerKeys
    private let apps: Set<AppID>
    private let limit: Duration
    private let clock: WallClock
    private let log: Log

    /// `limit` is how long the store may take for histories.
    package init(
        cache: EntitlementCache, archive: any LineageArchive, keys: BearerKeys, apps: some Sequence<AppID>,
        limit: Duration, clock: WallClock = .system, log: Log
    ) {
        self.cache = cache
        self.archive = archive
        self.limit = limit
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
            let parameters = try ReadParameters(head, allowed: [.environment, .at, .entitlement, .history])
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
                parameters.entitlement, of: key, at: parameters.instant ?? now
            ) { lineages in
                parameters.tellsHistory ? await histories(of: lineages, correlation) : nil
            }
            let headers: HTTPHeaders = [
                "Holdfast-Service-Level": answer.level.rawValue, "Correlation-ID": correlation,
                "Cache-Control": "private, max-age=0", "Content-Type": "application/json",
            ]
            return HTTPResponse(status: 200, headers: headers, body: json(explanation, answer, serverTime: now))
        } catch {
            log.warning(
                "an explanation could not be given", ["correlation": .init(correlation), "error": .init(error)])
            return Problem.response(to: error, about: key, cache, correlation: correlation)
        }
    }

    /// Nil when they cannot be read now.
    private func histories(
        of lineages: [LineageID], _ correlation: String
    ) async -> [LineageID: [HistoryEntry]]? {
        let found = await Patience.wait(limit) { () -> Result<[LineageID: [HistoryEntry]], StoreError> in
            var histories: [LineageID: [HistoryEntry]] = [:]
            do throws(StoreError) {
                for lineage in lineages { histories[lineage] = try await archive.history(of: lineage) }
            } catch { return .failure(error) }
            return .success(histories)
        }
        switch found {
        case .success(let histories): return histories
        case .failure(let error):
            log.warning(
                "a history could not be read", ["correlation": .init(correlation), "error": .init(error)])
        case nil: log.warning("a history could not be read in time", ["correlation": .init(correlation)])
        }
        return nil
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
