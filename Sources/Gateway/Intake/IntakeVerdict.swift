package import Entitlements
package import Time

/// What is to become of a body, judged before anything is stored.
package enum IntakeVerdict: Sendable, Hashable {
    /// Apple signed it. `environment` is what the body says of itself, when it can be read.
    case accept(environment: StoreEnvironment?, notificationUUID: String?, notificationType: String?)
    /// It could not be judged, for a reason that passes.
    case quarantine(reason: String, detail: String)
    /// Nobody vouches for it.
    case refuse(reason: String, detail: String, isMalformed: Bool)
    /// Not now: the sender comes back.
    case later(detail: String)
}

/// Judges a body as of an instant. Takes from 60 µs to some milliseconds of a core.
package typealias IntakeJudge = @Sendable (_ body: [UInt8], _ now: Timestamp) -> IntakeVerdict
