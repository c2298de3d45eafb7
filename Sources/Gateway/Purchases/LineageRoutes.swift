package import CacheTier
package import Entitlements
internal import HTTP
internal import JSON
package import Runtime
internal import Time

/// What the gateway asks of the store about single lineages, for support.
package protocol LineageArchive: Sendable {
    func find(_ id: LineageID) async throws(StoreError) -> FoundLineage?
    func history(of id: LineageID) async throws(StoreError) -> [HistoryEntry]
    func unclaimed(
        _ app: AppID, _ environment: StoreEnvironment, after cursor: String?, limit: Int
    ) async throws(StoreError) -> UnclaimedPage
    func unclaimedCount(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) -> Int
}

extension LineageStore: LineageArchive {}

/// Tells support about single purchases, for whoever holds a key with the scope `support`. Always read from the store.
///
/// - `GET /v1/apps/{app}/unclaimed?environment=&after=&limit=`: those that nobody has, first seen first
/// - `GET /v1/apps/{app}/lineages/{originalTransactionId}?environment=`: who has it, and what it is now
/// - `GET /v1/apps/{app}/lineages/{originalTransactionId}/history?environment=`: the same, and what happened to it
package struct LineageRoutes: Sendable {
    private let archive: any LineageArchive
    private let cache: EntitlementCache
    private let keys: BearerKeys
    private let apps: Set<AppID>
    private let rules: [AppID: StoreRules]
    private let limit: Duration
    private let clock: WallClock
    private let log: Log

    /// `limit` is how long the store may take; `cache` says how good it is what it answers.
    package init(
        archive: any LineageArchive, cache: EntitlementCache, keys: BearerKeys, apps: some Sequence<AppID>,
        rules: [AppID: StoreRules], limit: Duration, clock: WallClock = .system, log: Log
    ) {
        self.archive = archive
        self.cache = cache
        self.keys = keys
        self.apps = Set(apps)
        self.rules = rules
        self.limit = limit
        self.clock = clock
        self.log = log
    }

    enum Question: Hashable, Sendable {
        case unclaimed
        case lineage(String)
        case history(String)
    }

    func respond(to head: HTTPRequestHead, app: AppID, _ question: Question, correlation: String) -> HTTPReply {
        do throws(ProblemError) {
            _ = try keys.authorize(head, .support, for: app).get()
            guard apps.contains(app) else {
                throw ProblemError(problem: Problem(.unknownApp, "No app of this name is set up here."))
            }
            let parameters = try ReadParameters(
                head, allowed: question == .unclaimed ? [.environment, .after, .limit] : [.environment])
            return .later { await answer(question, app, parameters, correlation) }
        } catch {
            return .now(error.problem.response(correlation: correlation))
        }
    }

    private func answer(
        _ question: Question, _ app: AppID, _ parameters: ReadParameters, _ correlation: String
    ) async -> HTTPResponse {
        let readAt = ContinuousClock.now
        let found = await Patience.wait(limit) { () -> Result<Told?, StoreError> in
            do throws(StoreError) {
                switch question {
                case .unclaimed: return .success(try await unclaimed(app, parameters, readAt))
                case .lineage(let id):
                    return .success(try await lineage(id, app, parameters, readAt, withHistory: false))
                case .history(let id):
                    return .success(try await lineage(id, app, parameters, readAt, withHistory: true))
                }
            } catch { return .failure(error) }
        }
        switch found {
        case .success(let told?):
            return HTTPResponse(
                status: 200,
                headers: [
                    "Correlation-ID": correlation, "Cache-Control": "no-store", "Content-Type": "application/json",
                    "Holdfast-Service-Level": told.level.rawValue,
                ], body: told.json)
        case .success(nil):
            return Problem(
                .unknownLineage,
                "Nothing is known of it in this environment. It is an originalTransactionId; see ?environment=."
            ).response(correlation: correlation)
        case .failure, nil:
            if case .failure(let error) = found {
                log.warning(
                    "purchases could not be looked up",
                    ["correlation": .init(correlation), "error": .init(error)])
            }
            return Problem(
                .storeUnreachable, "What is known cannot be read at this moment. Ask again.",
                headers: ["Retry-After": "1"]
            ).response(correlation: correlation)
        }
    }

    private struct Told: Sendable {
        let json: [UInt8]
        let level: ServiceLevel
    }

    private func unclaimed(
        _ app: AppID, _ parameters: ReadParameters, _ readAt: ContinuousClock.Instant
    ) async throws(StoreError) -> Told {
        let environment = parameters.environment
        let page = try await archive.unclaimed(app, environment, after: parameters.after, limit: parameters.limit)
        let count = try await archive.unclaimedCount(app, environment)
        let now = clock.now()
        var json = JSONWriter()
        json.beginObject()
        json.member("app", app.rawValue)
        json.member("environment", environment.rawValue)
        json.member("serverTime", now.rfc3339)
        let note = cache.note(ofReadAt: readAt, app: app, environment: environment)
        note.write(to: &json)
        json.unclaimed(page, count: count, at: now, rules[app] ?? StoreRules())
        json.endObject()
        return Told(json: json.bytes, level: note.level)
    }

    private func lineage(
        _ id: String, _ app: AppID, _ parameters: ReadParameters, _ readAt: ContinuousClock.Instant, withHistory: Bool
    ) async throws(StoreError) -> Told? {
        let lineage = LineageID(app: app, environment: parameters.environment, originalTransactionID: id)
        guard let found = try await archive.find(lineage) else { return nil }
        let history = withHistory ? try await archive.history(of: lineage) : nil
        let now = clock.now()
        var json = JSONWriter()
        json.beginObject()
        json.member("app", app.rawValue)
        json.member("environment", parameters.environment.rawValue)
        json.member("serverTime", now.rfc3339)
        let note = cache.note(ofReadAt: readAt, app: app, environment: parameters.environment)
        note.write(to: &json)
        json.member("originalTransactionId", id)
        json.found(found, at: now, rules[app] ?? StoreRules())
        if let history { json.history(found.timeline(history, at: now, rules[app] ?? StoreRules())) }
        json.endObject()
        return Told(json: json.bytes, level: note.level)
    }
}
