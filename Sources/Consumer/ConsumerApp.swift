package import AppStore
package import Entitlements

/// One app whose notifications are applied.
package struct ConsumerApp: Sendable {
    package var identity: AppIdentity
    package var map: ProductMap

    package init(identity: AppIdentity, map: ProductMap = ProductMap()) {
        self.identity = identity
        self.map = map
    }
}
