/// What made a lineage go from one state to another.
///
/// `AppStore` names the cause of each notification type (`NotificationTable`); the raw values stand in histories.
package enum TransitionCause: String, Sendable, Hashable, CaseIterable {
    /// Nothing new became known; an instant was passed.
    case time
    /// Bought, bought again, or charged once.
    case purchase
    case renewal
    /// The customer chose another product, or turned renewal off or on.
    case preference
    case offer
    /// A renewal could not be charged.
    case failure
    /// Charged after it had failed.
    case recovery
    /// Apple says that it is over.
    case expiry
    /// Apple or the developer moved the renewal date.
    case renewalExtension = "extension"
    case refund
    case refundReversed
    /// Access that was shared or assigned was withdrawn.
    case revoke
    case price
    /// An answer of Apple's API, or data from a device: what is, without what made it so.
    case answer
    /// Another product map.
    case map
    case other
}
