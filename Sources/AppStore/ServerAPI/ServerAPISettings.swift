package import Entitlements
package import HTTP
package import Runtime

/// How the App Store Server API is called; the keys say below what each is for.
package struct ServerAPISettings: Sendable {
    /// Since May 2026; the names under itunes.apple.com are the old ones.
    package var productionURL = "https://api.storekit.apple.com"
    package var sandboxURL = "https://api.storekit-sandbox.apple.com"
    package var http = HTTPClientSettings(
        totalTimeout: .seconds(5), maximumResponseBytes: 8 << 20, maximumConnections: 32,
        maximumConnectionsPerHost: 32, userAgent: userAgent)
    package var tokenLife = Duration.seconds(1200)
    package var tokenBackdating = ServerAPIToken.backdating
    /// How long a call waits for its turn before it fails, by priority.
    package var supportPatience = Duration.seconds(15)
    package var expiringPatience = Duration.seconds(120)
    package var sweepPatience = Duration.seconds(600)
    package var budget = CallBudgetSettings()

    package static let userAgent = "holdfast/1.0"

    package init() {}

    /// Reads `appStoreAPI.*`.
    package init(_ settings: inout SettingsReader) {
        productionURL = Self.url(
            &settings, "appStoreAPI.productionURL", productionURL,
            "Base URL of the App Store Server API in production; another one for a simulator.")
        sandboxURL = Self.url(
            &settings, "appStoreAPI.sandboxURL", sandboxURL,
            "Base URL of the App Store Server API in the sandbox; another one for a simulator.")
        http = HTTPClientSettings(&settings, prefix: "appStoreAPI.", default: http)
        tokenLife = settings.duration(
            "appStoreAPI.tokenLife", default: tokenLife, in: .seconds(60) ... .seconds(3300),
            "How long a bearer token is good for and used; Apple allows an hour.")
        tokenBackdating = settings.duration(
            "appStoreAPI.tokenBackdating", default: tokenBackdating, in: .zero ... .seconds(240),
            "How far back a token's date of issue lies, so that a clock a little behind ours takes it.")
        supportPatience = settings.duration(
            "appStoreAPI.patience.support", default: supportPatience, in: .zero ... .seconds(600),
            "How long a call that somebody waits for may wait for its turn.")
        expiringPatience = settings.duration(
            "appStoreAPI.patience.expiring", default: expiringPatience, in: .zero ... .seconds(3600),
            "How long a call for an expiring subscription may wait for its turn.")
        sweepPatience = settings.duration(
            "appStoreAPI.patience.sweep", default: sweepPatience, in: .zero ... .seconds(86_400),
            "How long a call of the sweep may wait for its turn.")
        budget = CallBudgetSettings(&settings)
    }

    package func url(of environment: StoreEnvironment) -> String {
        environment == .production ? productionURL : sandboxURL
    }

    package func patience(of priority: CallPriority) -> Duration {
        switch priority {
        case .support: supportPatience
        case .expiring: expiringPatience
        case .sweep: sweepPatience
        }
    }

    private static func url(
        _ settings: inout SettingsReader, _ key: String, _ fallback: String, _ help: String
    ) -> String {
        let text = settings.string(key, default: fallback, help)
        let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
        guard let scheme, text.utf8.count > scheme.utf8.count, !text.hasSuffix("/"), !text.contains("?") else {
            settings.complain(about: key, "must be an https (or http) URL without a slash at its end, not \"\(text)\"")
            return fallback
        }
        return text
    }
}
