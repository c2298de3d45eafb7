package import Entitlements

/// What one notificationType, with one subtype or without, carries and means.
package struct NotificationRow: Sendable, Hashable {
    /// Whether Apple sends a fact with it.
    ///
    /// What it sends is applied in any case: `none` says what to expect, it refuses nothing.
    package enum Presence: String, Sendable, Hashable {
        case required, optional, none
    }

    /// The top-level object that its news stands in.
    package enum Object: String, Sendable, Hashable {
        case data, summary, externalPurchaseToken, appData, unclaimInfo
    }

    /// Nil in the row of all types that are not known.
    package let type: NotificationType?
    /// Nil where Apple sends none.
    package let subtype: NotificationSubtype?
    /// Whether Apple documents this type with this subtype.
    package let isDocumented: Bool
    /// Nil when it can be any.
    package let object: Object?
    package let transaction: Presence
    package let renewal: Presence
    package let status: Presence
    /// What a change of state is put down to when this notification brought it.
    package let cause: TransitionCause
    package let event: EventName
    /// What it means, in one sentence.
    package let meaning: String

    /// Whether it is always about a purchase. Without transaction and renewal information in it, something is wrong, and
    /// noted as if it were a TEST the purchase would be lost; all others may come without, and then change no record.
    package var isAboutPurchase: Bool { transaction == .required || renewal == .required }
}

extension NotificationRow {
    /// The facts that Apple puts into `data`.
    enum Facts {
        /// Always transaction, renewal information and status.
        case subscription
        /// Always the transaction; the others when it belongs to a subscription that renews.
        case purchase
        /// The transaction alone.
        case oneTime
        /// Any, or none.
        case any
        case none

        var presence: (transaction: Presence, renewal: Presence, status: Presence) {
            switch self {
            case .subscription: (.required, .required, .required)
            case .purchase: (.required, .optional, .optional)
            case .oneTime: (.required, .none, .none)
            case .any: (.optional, .optional, .optional)
            case .none: (.none, .none, .none)
            }
        }
    }

    /// One that Apple documents.
    init(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, in object: Object = .data, _ facts: Facts,
        _ cause: TransitionCause, _ event: EventName, _ meaning: String
    ) {
        self.type = type
        self.subtype = subtype
        isDocumented = true
        self.object = object
        (transaction, renewal, status) = facts.presence
        self.cause = cause
        self.event = event
        self.meaning = meaning
    }

    /// One that Apple does not document: a type that is not known, or a known one with another subtype than its rows have.
    init(undocumented type: NotificationType?, _ facts: Facts) {
        self.type = type
        subtype = nil
        isDocumented = false
        object = nil
        (transaction, renewal, status) = facts.presence
        cause = .other
        event = .notificationUnknown
        meaning = type == nil ? "A type of tomorrow." : "A known type with a subtype that it is not documented with."
    }
}
