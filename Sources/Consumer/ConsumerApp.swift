package import AppStore
package import Entitlements

/// One app whose notifications are applied.
package struct ConsumerApp: Sendable {
    package var identity: AppIdentity
    private let currentMap: @Sendable () -> ProductMap

    /// The product map in force at this moment.
    package var map: ProductMap { currentMap() }

    package init(identity: AppIdentity, map: ProductMap = ProductMap()) { self.init(identity: identity) { map } }

    /// `currentMap` is asked for each notification.
    package init(identity: AppIdentity, currentMap: @escaping @Sendable () -> ProductMap) {
        self.identity = identity
        self.currentMap = currentMap
    }
}
