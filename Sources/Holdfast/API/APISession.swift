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
        let redis = try settings.storeConnector(loop: loop).link("api")
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

    /// Shows an answer of Apple's, or a page of one, and says on standard error what in it is not to be trusted. Returns
    /// whether nothing is.
    func show(_ body: [UInt8], of endpoint: ServerAPIEndpoint) -> Bool {
        guard !body.isEmpty else {
            // As it came, an answer of nothing is nothing.
            if !asJSON || decodes { Console.line(asJSON ? #"{"answer":null,"problems":[],"signed":[]}"# : "done") }
            return true
        }
        let answer: JSONValue
        do throws(JSONError) { answer = try JSONValue.parse(body) } catch {
            // Endpoints that answer nothing may say anything.
            Console.line(
                asJSON ? String(decoding: body, as: UTF8.self) : String(decoding: body, as: UTF8.self).printable())
            return true
        }
        let view = APIAnswerView(
            answer, of: endpoint, problems: app.identity.mistakes(inAnswer: answer, from: environment)
        ) { report(on: $0, from: environment) }
        if asJSON {
            Console.line(decodes ? view.json(raw: body) : String(decoding: body, as: UTF8.self))
        } else {
            Console.line(view.text)
        }
        for problem in view.problems { Console.error("NOT TO BE TRUSTED: \(problem)") }
        for signed in view.signed { complain(about: signed.report, at: signed.place) }
        return view.problems.isEmpty && view.signed.allSatisfy(\.report.isFine)
    }

    /// A report on something signed in an answer of that environment.
    func report(on text: String, from environment: StoreEnvironment) -> VerificationReport {
        VerificationReport(
            of: Array(text.utf8), verifier: verifier,
            expecting: VerificationReport.Expectation(
                bundleID: app.identity.bundleID, appAppleID: app.identity.appAppleID, environment: environment),
            now: WallClock.system.now())
    }

    /// Says on standard error what is wrong with something signed; returns whether anything is.
    @discardableResult func complain(about report: VerificationReport, at place: String) -> Bool {
        for part in report.parts where !part.problems.isEmpty {
            let location = [place, part.place].compactMap(\.self).joined(separator: ", ")
            Console.error("NOT TO BE TRUSTED: \(location): \(part.problems.map(\.sentence).joined(separator: "; "))")
        }
        return !report.isFine
    }

    /// Says what went wrong; returns the exit code. `isLost`: both environments were asked.
    func report(_ failure: ServerAPIFailure, isLost: Bool = false) -> Int32 {
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
        if failure.isTransactionNotFound, environment == .production, !isLost {
            Console.error("--sandbox asks the other environment; holdfast api find ID asks both")
        }
        switch failure.kind {
        case .invalidRequest, .key: return 2
        case .refused, .unauthorized: return failure.isRetryable ? 3 : 1
        // Apple has not answered, or somebody else has.
        default: return 3
        }
    }
}
