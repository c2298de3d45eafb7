package import AppStore
package import Entitlements

/// One app whose notifications are applied.
package struct ConsumerApp: Sendable {
    package var identity: AppIdentity
    package var policy: EvaluationPolicy
    private let currentMap: @Sendable () -> ProductMap

    /// The product map in force at this moment.
    package var map: ProductMap { currentMap() }

    package init(
        identity: AppIdentity, map: ProductMap = ProductMap(), policy: EvaluationPolicy = .standard
    ) {
        self.init(identity: identity, policy: policy) { map }
    }

    /// `currentMap` is asked for each notification.
    package init(
        identity: AppIdentity, policy: EvaluationPolicy = .standard,
        currentMap: @escaping @Sendable () -> ProductMap
    ) {
        self.identity = identity
        self.policy = policy
        self.currentMap = currentMap
    }
}
