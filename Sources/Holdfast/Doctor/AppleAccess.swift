import AppStore
import Entitlements
import HTTP
import Runtime

/// The App Store Server API of one app in one environment, as the settings let us in.
struct AppleAccess: Sendable {
    let app: AppSettings
    let environment: StoreEnvironment
    let client: ServerAPIClient
    let url: String
    /// Why Apple does not let us in; nil if it does. Asks for a transaction that does not exist: being told so is being
    /// let in.
    let refusal: Once<ServerAPIFailure?>

    var scope: String { "\(app.id.rawValue) \(environment.rawValue)" }

    init?(
        app: AppSettings, environment: StoreEnvironment, settings: ServerAPISettings, http: HTTPClient, clock: WallClock
    ) {
        guard let key = app.serverAPIKey else { return nil }
        let url = settings.url(of: environment)
        // Apple's limits are Apple's: a simulator sets its own, if any.
        let isApple = url.hasSuffix(".apple.com")
        let queue = CallQueue(bucket: LocalCallBucket(settings: settings.budget), settings: settings.budget)
        let budget: any CallBudget = isApple ? queue : UnlimitedCalls()
        let client = ServerAPIClient(
            bundleID: app.identity.bundleID, environment: environment, key: key, settings: settings, http: http,
            budget: budget, clock: clock)
        self.app = app
        self.environment = environment
        self.client = client
        self.url = url
        refusal = Once {
            do throws(ServerAPIFailure) {
                _ = try await client.transaction("1", .support)
                return nil
            } catch {
                return error.kind == .refused && error.code != nil ? nil : error
            }
        }
    }

    /// Why nothing more can be asked, in words that go behind "not checked".
    static func excuse(_ refusal: ServerAPIFailure) -> String {
        switch refusal.kind {
        case .unauthorized: "Apple does not take the key"
        case .unreachable, .timedOut, .tls, .connectionLost, .server: "Apple does not answer"
        default: "\(refusal)"
        }
    }
}
