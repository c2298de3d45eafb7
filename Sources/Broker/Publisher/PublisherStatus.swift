internal import Synchronization

/// What any thread may ask about a publisher, at once, even while the publisher's own thread is held up in a write.
final class PublisherStatus: Sendable {
    private static let none = Int64.max

    private let healthLimit: Duration
    private let origin = ContinuousClock.now
    private let connected = Atomic(false)
    private let blocked = Atomic(false)
    /// Nanoseconds from `origin` to when the oldest unconfirmed message was sent.
    private let oldest = Atomic(PublisherStatus.none)

    init(healthLimit: Duration) { self.healthLimit = healthLimit }

    var isConnected: Bool {
        get { connected.load(ordering: .acquiring) }
        set { connected.store(newValue, ordering: .releasing) }
    }

    var isBlocked: Bool {
        get { blocked.load(ordering: .acquiring) }
        set { blocked.store(newValue, ordering: .releasing) }
    }

    var isHealthy: Bool { isConnected && !isBlocked && age(by: .now) <= healthLimit }

    /// How long the oldest unconfirmed message has been waiting.
    func age(by now: ContinuousClock.Instant) -> Duration {
        let sent = oldest.load(ordering: .acquiring)
        return sent == Self.none ? .zero : (now - origin) - .nanoseconds(sent)
    }

    func setOldest(_ instant: ContinuousClock.Instant?) {
        guard let instant else { return oldest.store(Self.none, ordering: .releasing) }
        let (seconds, attoseconds) = (instant - origin).components
        oldest.store(seconds * 1_000_000_000 + attoseconds / 1_000_000_000, ordering: .releasing)
    }
}
