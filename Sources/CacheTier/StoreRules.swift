package import Entitlements

/// What an app decides about its lineages, as far as the store must know.
package struct StoreRules: Sendable {
    package var transfers: TransferRules
    package var evaluation: EvaluationPolicy
    private let currentMap: @Sendable () -> ProductMap

    /// The product map in force at this moment.
    package var map: ProductMap { currentMap() }

    /// `currentMap` is asked whenever something is applied.
    package init(
        transfers: TransferRules = .standard, evaluation: EvaluationPolicy = .standard,
        currentMap: @escaping @Sendable () -> ProductMap = { ProductMap() }
    ) {
        self.transfers = transfers
        self.evaluation = evaluation
        self.currentMap = currentMap
    }
}
