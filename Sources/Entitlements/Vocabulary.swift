/// The two App Store environments whose data may enter; they never mix (invariant 7).
package enum StoreEnvironment: String, Sendable, Hashable, CaseIterable {
    case production
    case sandbox
}

/// An app's own name in the settings and in every URL, such as `demo`.
package struct AppID: Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }
}

/// Names a lineage: all that is known of one `originalTransactionId` in one app and environment.
package struct LineageID: Sendable, Hashable {
    package let app: AppID
    package let environment: StoreEnvironment
    package let originalTransactionID: String

    package init(app: AppID, environment: StoreEnvironment, originalTransactionID: String) {
        self.app = app
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }
}
