internal import Entitlements
internal import Time

/// What is to be done about a lineage by the clock, as far as its record says: the next check with Apple, and the next
/// reminder. Nothing of it for a lineage that a holder loses.
struct LineageSchedule: Sendable, Hashable {
    var check: DueCheck?
    var reminder: Reminder?

    init() {}

    init(of record: LineageRecord, under rules: StoreRules, at now: Timestamp) {
        let map = rules.map
        check = Cadence.next(for: record, map: map, policy: rules.evaluation, at: now)
        reminder = Reminder.next(for: record, map: map, policy: rules.evaluation, after: now)
    }

    /// As what a lineage stands in the indexes of a holder's partition.
    static func member(_ lineage: LineageID, _ holder: Holder) -> String {
        // Ids are escaped, so none has a blank.
        "\(holder.id) \(StorageLayout.escaped(lineage.originalTransactionID))"
    }

    /// The holder and lineage that `member` made a member of; nil for what it did not make.
    static func parse(
        _ member: String, _ app: AppID, _ environment: StoreEnvironment
    ) -> (holder: Holder, lineage: LineageID)? {
        let parts = member.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let holder = Holder(id: String(parts[0])),
            let id = StorageLayout.unescaped(parts[1])
        else { return nil }
        return (holder, LineageID(app: app, environment: environment, originalTransactionID: id))
    }

    /// What a holder's indexes are to say.
    ///
    /// - Parameters:
    ///   - path: The holder's.
    ///   - isStored: Whether the holder has the lineage after the write.
    ///   - firstSeen: For the list of what nobody has.
    func updates(
        _ lineage: LineageID, _ holder: Holder, at path: String, isStored: Bool, firstSeen: Timestamp
    ) -> [IndexUpdate] {
        let (app, environment, partition) = (
            lineage.app, lineage.environment, StorageLayout.partition(of: path)
        )
        let member = Self.member(lineage, holder)
        var updates = Urgency.allCases.map { urgency in
            IndexUpdate(
                key: StorageLayout.due(urgency, app, environment, partition: partition), member: member,
                score: isStored && check?.urgency == urgency ? check?.at : nil)
        }
        switch holder {
        case .customer:
            // A reminder that is due and not yet sent must not be put off by news that comes in between; whether it
            // still holds is looked at when it is sent.
            updates.append(
                IndexUpdate(
                    key: StorageLayout.reminders(app, environment, partition: partition), member: member,
                    score: isStored ? reminder?.at : nil, keeping: .earliest))
        case .unclaimed(let id):
            updates.append(
                IndexUpdate(
                    key: StorageLayout.unclaimedIndex(app, environment, partition: partition),
                    member: StorageLayout.escaped(id), score: isStored ? firstSeen : nil, keeping: .first))
        }
        return updates
    }
}
