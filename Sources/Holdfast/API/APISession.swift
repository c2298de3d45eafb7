import AppStore
import CacheTier
import Entitlements
import HTTP
import JSON
import Redis
import Runtime
import Time

/// One app of the settings, with clients for the App Store Server API and a way to show what they answer.
struct APISession {
    let client: ServerAPIClient
    private let app: AppSettings
    private let environment: StoreEnvironment
    private let settings: HoldfastSettings
    private let make: (StoreEnvironment) -> ServerAPIClient
    private let asJSON: Bool
    private let decodes: Bool
    private let verifier: JWSVerifier

    func client(for environment: StoreEnvironment) -> ServerAPIClient { make(environment) }

    static func with(
        _ arguments: CommandArguments, environment: StoreEnvironment, _ body: (APISession) async throws -> Int32
    ) async throws -> Int32 {
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        let app = try app(arguments.value("app"), settings)
        guard let key = app.serverAPIKey else {
            throw UsageError(
                "the app \(app.id) has no key for the App Store Server API: set apps.\(app.id).serverAPI.keyId, "
                    + ".issuerId and .privateKeyFile (App Store Connect: Users and Access, Integrations, In-App Purchase)"
            )
        }
        let log = Log(part: "api", minimum: max(settings.logLevel, .warning))
        let metrics = Metrics()
        let loop = try EventLoop(name: "api")
        let redis = RedisClient(name: "api", settings: settings.redis, loop: loop, log: .discarding)
        await redis.start()
        if !redis.isConnected {
            Console.error(
                "Redis is unreachable, so this call keeps to \(settings.appStoreAPI.budget.fallbackShare) % of Apple's limits"
            )
        }
        let bucket = SharedCallBucket(
            redis: redis, settings: settings.appStoreAPI.budget, metrics: metrics, log: .discarding)
        let budget = CallQueue(bucket: bucket, settings: settings.appStoreAPI.budget)
        let http = HTTPClient(settings: settings.appStoreAPI.http, loop: loop)
        let make = { (environment: StoreEnvironment) in
            ServerAPIClient(
                bundleID: app.identity.bundleID, environment: environment, key: key, settings: settings.appStoreAPI,
                http: http, budget: budget, metrics: metrics, log: log)
        }
        let session = APISession(
            client: make(environment), app: app, environment: environment, settings: settings, make: make,
            asJSON: arguments.has("json"), decodes: arguments.has("decode"), verifier: settings.appStore.verifier())
        let result: Result<Int32, any Error>
        do { result = .success(try await body(session)) } catch { result = .failure(error) }
        await http.close()
        await redis.close()
        loop.stop()
        return try result.get()
    }

    private static func app(_ name: String?, _ settings: HoldfastSettings) throws(UsageError) -> AppSettings {
        let names = settings.apps.map(\.id.rawValue)
        guard let name else {
            guard settings.apps.count == 1, let only = settings.apps.first else {
                throw UsageError("say which app with --app: \(names.joined(separator: ", "))")
            }
            return only
        }
        guard let app = settings.apps.first(where: { $0.id.rawValue == name }) else {
            throw UsageError("there is no app \(name) in the settings, only \(names.joined(separator: ", "))")
        }
        return app
    }

    // MARK: Showing

    /// Shows an answer of Apple's, or a page of one.
    func show(_ body: [UInt8]) {
        if asJSON, !decodes {
            // As it came; only an answer of nothing is nothing.
            if !body.isEmpty { Console.line(String(decoding: body, as: UTF8.self)) }
            return
        }
        guard !body.isEmpty else { return Console.line(asJSON ? #"{"answer":null,"signed":[]}"# : "done") }
        let answer: JSONValue
        do throws(JSONError) { answer = try JSONValue.parse(body) } catch {
            return Console.line(String(decoding: body, as: UTF8.self))
        }
        let view = APIAnswerView(answer) { text in
            VerificationReport(
                of: Array(text.utf8), verifier: verifier,
                expecting: VerificationReport.Expectation(
                    bundleID: app.identity.bundleID, appAppleID: app.identity.appAppleID, environment: environment),
                now: WallClock.system.now())
        }
        Console.line(asJSON ? view.json(raw: body) : view.text)
    }

    /// Says what went wrong; returns the exit code.
    func report(_ failure: ServerAPIFailure) -> Int32 {
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.object("error") { json in
                json.member("kind", failure.kind.rawValue)
                json.member("status", failure.status)
                json.member("errorCode", failure.code)
                json.member("name", failure.name)
                json.member("message", failure.message)
                json.member("retryable", failure.isRetryable)
                json.member("retryAfter", failure.retryAfter?.rfc3339)
            }
            json.endObject()
            Console.line(json.text)
        }
        Console.error(failure.description)
        if failure.isTransactionNotFound, environment == .production {
            Console.error("--sandbox asks the other environment; holdfast api find ID asks both")
        }
        switch failure.kind {
        case .invalidRequest, .key: return 2
        default: return failure.isRetryable ? 3 : 1
        }
    }
}
