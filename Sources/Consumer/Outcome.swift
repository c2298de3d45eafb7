import AppStore
import CacheTier
import Entitlements

/// What became of one delivery, and thereby how it is settled.
///
/// | stage | what happened | outcome |
/// |---|---|---|
/// | address | the app of the message is not in the settings | quarantine `unknownApp` |
/// | verify | too many unknown chains at this moment | retry |
/// | verify | a certificate is revoked (`appStore.revocation` soft or hard) | quarantine `revoked` |
/// | verify | nobody can say whether a certificate is revoked (hard; soft lets pass) | retry |
/// | verify | forged, malformed, another app's, signed too far ahead, of unknown shape, undecidable | quarantine with the code |
/// | verify | about a purchase (`NotificationTable`), without one in it | quarantine `payload` or `unknownShape` |
/// | decode | no state in it (TEST, summaries, tokens, consent, seats given back, unknown types) | noted |
/// | apply | Redis unreachable, slow or refusing; a store of another layout | retry, and intake rests |
/// | apply | too many conflicts; a record that a newer version wrote | retry |
/// | apply | a stored record that cannot be read | quarantine `unreadableRecord` |
/// | apply | the record changed, or knew it already | applied, unchanged |
/// | address | of a kind that this version does not know; purchases, or Apple's answers, by another exchange than ours \
///   | quarantine `unknownKind`, `foreignClaim`, `foreignAnswer` |
/// | verify | purchases that a backend posted, one of them not to be used | as above, all of them |
/// | apply | purchases that were decided: what Apple signed and the accepted claims are folded in | purchases |
/// | apply | purchases that were not decided, because Redis was away then: decided as of their receipt | purchases |
/// | verify | what Apple answered about a lineage, something in it not to be used | as above, all of it |
/// | apply | what Apple answered about a lineage: every subscription in it is folded in | statuses |
/// | tell | the broker does not take an event, or Redis does not say whether a request is a repeat | retry |
///
/// | outcome | settlement |
/// |---|---|
/// | applied, unchanged, noted | the notification's event published and confirmed, then acknowledged; \
///   `entitlement.changed` too, when it changed something or somebody may have failed before telling it |
/// | purchases, decided before | told: `entitlement.changed`, and `transfer.…` for both sides; then acknowledged |
/// | purchases, decided here | what was decided is published to the intake and confirmed, then acknowledged |
/// | statuses | told: `entitlement.changed` of each lineage that means something else now; then acknowledged |
/// | retry | published to the next retry level and confirmed, then acknowledged; the last level repeats for ever |
/// | quarantine | published to quarantine and confirmed, then acknowledged; when quarantine takes nothing, as retry |
/// | any publish that fails | requeued, and intake rests for a while |
///
/// Nothing is dropped (invariant 2): a message is acknowledged only when Redis, a retry queue or quarantine has it.
enum Outcome: Sendable {
    /// With what the notification leads to, if others are to be told of it.
    case applied(AppliedChange, Observation, OutboundEvent?)
    case unchanged(AppliedChange, Observation, OutboundEvent?)
    /// Verified and without effect on any state.
    case noted(type: Raw<NotificationType>?, OutboundEvent?)
    /// Posted by a backend, whatever was decided about them.
    case purchases(AppliedPurchases)
    /// Apple's answer about a lineage.
    case statuses(AppliedStatuses)
    case retry(RetryCause, detail: String)
    case quarantine(QuarantineReason)

    var label: String {
        switch self {
        case .applied: "applied"
        case .unchanged: "unchanged"
        case .noted: "noted"
        case .purchases: "purchases"
        case .statuses: "statuses"
        case .retry: "retry"
        case .quarantine: "quarantined"
        }
    }

    /// The stages "address" and "verify".
    init(_ refusal: MessageRefusal) {
        if let failure = refusal.failure, failure.disposition == .retryLater {
            self = .retry(
                failure.code == .revocationUnknown ? .revocation : .verification, detail: failure.description)
        } else {
            self = .quarantine(QuarantineReason(code: refusal.code, sentence: refusal.sentence))
        }
    }

    /// The stage "apply".
    init(_ error: StoreError) {
        switch error {
        case .redis, .wrongLayout: self = .retry(.store, detail: error.description)
        case .contended: self = .retry(.conflict, detail: error.description)
        case .unreadable(_, _, isNewer: true): self = .retry(.newerRecord, detail: error.description)
        case .unreadable(_, _, isNewer: false):
            // Until somebody has mended the record, no try succeeds.
            self = .quarantine(QuarantineReason(code: "unreadableRecord", sentence: error.description))
        }
    }
}

enum RetryCause: String, Sendable {
    /// Too many unknown chains at this moment.
    case verification
    /// Nobody could say whether a certificate is revoked, and the settings insist on knowing.
    case revocation
    /// Redis did not do its part; it would not for the next message either.
    case store
    /// Others changed the same lineage each time.
    case conflict
    /// During an upgrade, a newer version wrote the record.
    case newerRecord
    /// Quarantine took nothing.
    case quarantine
    /// The broker did not take an event.
    case events
    /// The broker did not take what was decided about purchases.
    case decision
}

/// Why a message lies in quarantine: a stable code and a sentence.
package struct QuarantineReason: Sendable, Hashable {
    package let code: String
    package let sentence: String
}
