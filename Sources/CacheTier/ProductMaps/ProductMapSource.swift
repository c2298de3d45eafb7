package import Entitlements

/// Says which product map is in force; from any thread, without waiting.
package protocol ProductMapSource: Sendable {
    /// Nil for an app that it does not know.
    func current(of app: AppID) -> ProductMapInForce?
}

/// A product map, and what tells it from the one before within this process.
package struct ProductMapInForce: Sendable {
    package let map: ProductMap
    /// Another map has another number; comparing maps themselves would cost every read.
    package let generation: UInt64

    package init(map: ProductMap, generation: UInt64) {
        self.map = map
        self.generation = generation
    }
}
