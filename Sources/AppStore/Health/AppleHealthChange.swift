package import Entitlements
package import Time

/// An app in one of Apple's environments: what Apple's health is known of.
package struct AppleStore: Sendable, Hashable, CustomStringConvertible {
    package let app: AppID
    package let environment: StoreEnvironment

    package init(_ app: AppID, _ environment: StoreEnvironment) {
        self.app = app
        self.environment = environment
    }

    package var description: String { "\(app) \(environment.rawValue)" }
}

extension AppleHealthMonitor {
    /// A change of Apple's health, as this process saw it. Each process looks for itself.
    package struct Change: Sendable, Hashable {
        package let app: AppID
        package let environment: StoreEnvironment
        package let from: AppleHealth
        package let to: AppleHealth
        package let at: Timestamp
        /// What it is due to, for people: what Apple answered or did not.
        package let cause: String
        /// What failed; nil when it is fine again.
        package let trouble: AppleTrouble?
        /// When the first call was sent that failed, of the outage which this change begins, worsens or ends. A process
        /// that was started within an outage knows of no earlier one than its own first call.
        package let outageBegan: Timestamp?
        /// When the last call before that had been answered: Apple was there until then. Nil when there was none.
        package let lastGood: Timestamp?
        /// Counts the changes that this process saw, from 1.
        package let number: UInt64
    }
}
