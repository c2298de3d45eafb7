package import CacheTier
import Synchronization
package import Time

/// Gathers, for one backfill, which notifications no consumer has settled, and knows which of them an earlier one has sent
/// through the line a short while ago.
package final class FoundMissing: Sendable {
    private let state: Mutex<(missing: MissingNotifications, isChanged: Bool)>

    package init(_ before: MissingNotifications) {
        var missing = before
        missing.forgetUnnamed()
        state = Mutex((missing, false))
    }

    package func isOnItsWay(_ uuid: String, at now: Timestamp) -> Bool {
        state.withLock { $0.missing.isOnItsWay(uuid, at: now) }
    }

    /// These were found missing and are sent through the line now.
    package func add(_ listed: [SeenNotifications.Listed], at now: Timestamp) {
        guard !listed.isEmpty else { return }
        state.withLock { state in
            for one in listed {
                state.missing.add(one.uuid, .init(signedDate: one.signedDate, sentAt: now))
            }
            state.isChanged = true
        }
    }

    /// What is to be stored, if anything changed since it was asked for last.
    package func news() -> MissingNotifications? {
        state.withLock { state in
            defer { state.isChanged = false }
            return state.isChanged ? state.missing : nil
        }
    }

    package var all: MissingNotifications { state.withLock { $0.missing } }
}
