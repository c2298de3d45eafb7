/// Which state may follow which, through what, and why.
///
/// A transition that the table does not know is applied all the same, since Apple signed it, but marked, counted and
/// shown: either news of something in between is lost or on its way, or the table is wrong. To stay what it is needs no
/// row. News signed before something that is known already is not held against the table: in which order states followed
/// is then Apple's knowledge and not that of whoever hears of it late (`HistoryEntry.made`).
package enum LegalTransitions {
    package struct Row: Sendable {
        /// nil: nothing of the lineage was known, or nothing of it had begun.
        package let from: [LineageState?]
        package let to: [LineageState]
        package let through: Set<TransitionCause>
        package let why: String

        fileprivate init(
            _ from: [LineageState?], to: [LineageState], through causes: Set<TransitionCause>, _ why: String
        ) {
            (self.from, self.to, through, self.why) = (from, to, causes, why)
        }
    }

    package static let rows: [Row] = [
        Row(
            [nil], to: LineageState.allCases, through: Set(TransitionCause.allCases).subtracting([.time, .map]),
            "The first word of a lineage may be any: what came before it was not sent here."),
        Row(
            [nil], to: [.active, .canceled], through: [.time],
            "A first period begins after it was signed."),

        // A period ends.
        Row(
            [.active], to: [.hold], through: [.time],
            "The period is over, it should have renewed, and Apple has said nothing yet."),
        Row(
            [.active], to: [.gracePeriod], through: [.time],
            "The period is over; that its renewal fails and a grace period runs was known before."),
        Row(
            [.active], to: [.expired], through: [.time, .map],
            "The time that the product map gives a one-time purchase is over, or is now shorter."),
        Row([.canceled], to: [.expired], through: [.time], "The period is over and renewal is off."),
        Row(
            [.hold], to: [.expired], through: [.time, .expiry, .preference],
            "No word within the bound; or the word that it is over, or that renewal was turned off."),

        // It renews.
        Row([.hold], to: [.active], through: [.renewal, .recovery], "The renewal that was waited for."),
        Row(
            [.expired], to: [.active], through: [.renewal, .recovery],
            "The renewal that was waited for, after the bound."),

        // It fails to, and recovers or not.
        Row(
            [.hold, .expired], to: [.gracePeriod, .billingRetry], through: [.failure],
            "The word that was waited for: the renewal could not be charged. After the bound, too."),
        Row([.gracePeriod], to: [.billingRetry], through: [.time, .failure], "The grace period is over."),
        Row([.gracePeriod, .billingRetry], to: [.active], through: [.recovery], "Charged after all."),
        Row(
            [.gracePeriod, .billingRetry], to: [.expired], through: [.expiry, .preference],
            "Apple gives up, or the customer does."),

        // The customer decides.
        Row([.active], to: [.canceled], through: [.preference], "Renewal was turned off."),
        Row(
            [.canceled], to: [.active], through: [.preference, .offer],
            "Renewal was turned on again, or an upgrade or an offer was taken."),
        Row(
            [.gracePeriod, .billingRetry, .hold], to: [.active], through: [.preference, .offer],
            "An upgrade or an offer is charged at once and begins a new period."),
        Row([.expired, .revoked, .billingRetry, .hold], to: [.active], through: [.purchase], "Bought again."),
        Row([.expired, .revoked], to: [.active], through: [.offer], "Bought again with an offer."),

        // Something is taken back, or given again.
        Row(
            [.active, .canceled, .gracePeriod, .billingRetry, .hold, .expired], to: [.revoked],
            through: [.refund, .revoke], "The current period was refunded, or what was shared is withdrawn."),
        Row(
            [.active, .canceled, .gracePeriod, .hold], to: [.revoked], through: [.time],
            "The date of a revocation that was announced."),
        Row(
            [.revoked], to: [.active, .canceled, .gracePeriod, .billingRetry, .hold, .expired],
            through: [.refundReversed], "The refund was reversed; the period goes on as far as it has come."),
        Row(
            [.revoked, .expired], to: [.active, .canceled], through: [.time],
            "A renewal that was charged early begins after the period before it was refunded or upgraded."),

        // Given for nothing.
        Row(
            [.hold, .expired], to: [.active], through: [.renewalExtension],
            "The renewal date was moved after the period's end."),
        Row([.expired], to: [.active], through: [.map], "The product map gives a one-time purchase more time."),

        Row(
            LineageState.allCases, to: LineageState.allCases, through: [.answer],
            "An answer says what is, and makes up for everything that was missed."),
    ]

    /// Whether the table knows the transition; to the same state, always.
    package static func knows(from: LineageState?, to: LineageState, through cause: TransitionCause) -> Bool {
        from == to || known.contains(Step(from: from, to: to, cause: cause))
    }

    private struct Step: Hashable {
        let from: LineageState?
        let to: LineageState
        let cause: TransitionCause
    }

    private static let known: Set<Step> = rows.reduce(into: []) { known, row in
        for from in row.from {
            for to in row.to {
                for cause in row.through { known.insert(Step(from: from, to: to, cause: cause)) }
            }
        }
    }
}
