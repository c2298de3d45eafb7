package import Time

/// What the ledger holds at one moment: from its oldest message to its newest.
package struct LedgerBounds: Sendable, Hashable {
    package struct Place: Sendable, Hashable {
        package let offset: Int64
        /// As the publisher dated it, in whole seconds.
        package let timestamp: Timestamp?
        package let headers: [String: String]

        init?(_ delivery: BrokerDelivery) {
            guard let offset = delivery.streamOffset else { return nil }
            self.offset = offset
            timestamp = delivery.message.timestamp
            headers = delivery.message.headers
        }
    }

    package let oldest: Place
    package let newest: Place

    /// Whether everything that was ever written is there: retention has cut nothing off.
    package var isWhole: Bool { oldest.offset == 0 }
}
