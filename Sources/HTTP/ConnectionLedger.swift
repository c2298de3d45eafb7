internal import Synchronization

/// Counts open connections, in all and by peer, over all loops of a server.
final class ConnectionLedger: Sendable {
    private struct Counts {
        var total = 0
        var byGroup: [PeerAddress.Group: Int] = [:]
    }

    private let limit: Int
    private let limitPerGroup: Int
    private let counts = Mutex(Counts())

    init(limit: Int, limitPerGroup: Int) {
        self.limit = limit
        self.limitPerGroup = limitPerGroup
    }

    /// Counts one more, unless that would be too many.
    func admit(_ group: PeerAddress.Group) -> Bool {
        counts.withLock { counts in
            let held = counts.byGroup[group, default: 0]
            guard counts.total < limit, held < limitPerGroup else { return false }
            counts.total += 1
            counts.byGroup[group] = held + 1
            return true
        }
    }

    func release(_ group: PeerAddress.Group) {
        counts.withLock { counts in
            counts.total -= 1
            let held = counts.byGroup[group, default: 1]
            counts.byGroup[group] = held > 1 ? held - 1 : nil
        }
    }

    var total: Int { counts.withLock { $0.total } }
}
