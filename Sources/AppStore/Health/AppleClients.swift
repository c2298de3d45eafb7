package import Entitlements
package import HTTP
package import Runtime

/// The ways to Apple of one process: a client for each app and environment that has a key, all within one call budget,
/// and what is known of Apple's health, fed by every call that they make and by probes.
///
/// ```swift
/// guard let client = apple.client(for: app, .production) else { … }       // the app has no key
/// let statuses = try await client.statuses(id, .support)                  // its outcome is noted by itself
/// apple.health.health(of: app, .production)
/// ```
///
/// **The probe** is Get Transaction Info for the id 1, which no transaction has: it reads and changes nothing, needs no
/// knowledge of any customer, counts against the widest of Apple's limits (50 calls a second and app; those about test
/// notifications have one), and whatever Apple answers, 404 or 401, shows that Apple is there.
package final class AppleClients: Service {
    /// An app that Apple may be asked about, if it has a key.
    package struct App: Sendable {
        package let id: AppID
        package let bundleID: String
        package let key: ServerAPIKey?

        package init(id: AppID, bundleID: String, key: ServerAPIKey?) {
            self.id = id
            self.bundleID = bundleID
            self.key = key
        }
    }

    package static let probedTransaction = "1"

    package let name = "apple-clients"
    package let health: AppleHealthMonitor
    private let clients: [AppleStore: ServerAPIClient]
    private let http: HTTPClient

    /// `http` is closed with it. Start what `budget` needs before it.
    package init(
        apps: [App], settings: ServerAPISettings, health: AppleHealthSettings = AppleHealthSettings(), http: HTTPClient,
        budget: any CallBudget, metrics: Metrics = Metrics(), log: Log = .discarding, clock: WallClock = .system
    ) {
        let monitor = AppleHealthMonitor(settings: health, metrics: metrics, log: log, clock: clock)
        var clients: [AppleStore: ServerAPIClient] = [:]
        for app in apps {
            for environment in StoreEnvironment.allCases {
                let store = AppleStore(app.id, environment)
                guard let key = app.key else {
                    monitor.watch(store, probe: nil)
                    continue
                }
                let client = ServerAPIClient(
                    bundleID: app.bundleID, environment: environment, key: key, settings: settings, http: http,
                    budget: budget, metrics: metrics, log: log, clock: clock
                ) { monitor.note($0, app: app.id, environment: environment) }
                clients[store] = client
                monitor.watch(store) {
                    // What came of it the monitor has heard from the client.
                    do throws(ServerAPIFailure) {
                        _ = try await client.transaction(Self.probedTransaction, .sweep)
                    } catch { return }
                }
            }
        }
        self.health = monitor
        self.http = http
        self.clients = clients
    }

    /// Nil when the app has no key.
    package func client(for app: AppID, _ environment: StoreEnvironment) -> ServerAPIClient? {
        clients[AppleStore(app, environment)]
    }

    /// Those that there are clients for.
    package var stores: Set<AppleStore> { Set(clients.keys) }

    package func start() async { health.start() }

    package func drain() async {
        await health.drain()
        await http.close()
    }
}
