package import AppStore
package import Entitlements
package import Runtime

/// How the gateway asks Apple.
package struct RefreshSource: Sendable {
    /// Nil for an app without a key.
    package var inquiry: @Sendable (AppID, StoreEnvironment) -> StatusInquiry?
    /// How Apple's API does, as this process sees it.
    package var health: @Sendable (AppID, StoreEnvironment) -> AppleHealth

    package init(
        inquiry: @escaping @Sendable (AppID, StoreEnvironment) -> StatusInquiry?,
        health: @escaping @Sendable (AppID, StoreEnvironment) -> AppleHealth = { _, _ in .fine }
    ) {
        self.inquiry = inquiry
        self.health = health
    }

    /// By the clients of the process.
    package init(
        _ clients: AppleClients, verifier: JWSVerifier, identities: [AppID: AppIdentity], clock: WallClock = .system
    ) {
        self.init { app, environment in
            guard let client = clients.client(for: app, environment), let identity = identities[app] else { return nil }
            return StatusInquiry(client: client, verifier: verifier, identity: identity, clock: clock)
        } health: { app, environment in
            clients.health.health(of: app, environment)
        }
    }

    /// Nobody to ask.
    package static let none = RefreshSource { _, _ in nil }
}
