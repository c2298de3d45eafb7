internal import Synchronization

/// Says whether somebody has asked a long work to end; from any thread.
package final class Interruption: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package func request() { flag.store(true, ordering: .releasing) }
    package var isRequested: Bool { flag.load(ordering: .acquiring) }
}
