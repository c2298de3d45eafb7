/// Growing waits between attempts: doubled each time up to a maximum, and shortened by chance so that processes which lost
/// the same broker do not come back all at once.
struct Backoff: Sendable {
    private let minimum: Duration
    private let maximum: Duration
    private var next: Duration

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = max(minimum, maximum)
        next = minimum
    }

    mutating func reset() { next = minimum }

    /// The wait before the next attempt: between half and all of the nominal one. `chance` is from 0 to 1.
    mutating func delay(chance: Double = .random(in: 0...1)) -> Duration {
        defer { next = min(next * 2, maximum) }
        return next * (0.5 + chance / 2)
    }
}
