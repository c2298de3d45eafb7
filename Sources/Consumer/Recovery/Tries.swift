import AppStore
import Runtime
import Time

/// How often one question is put to Apple: three times, with growing and random waits in between, and not before the time
/// that Apple names. Then it is left for later.
struct Tries: Sendable {
    static let standard = Tries()

    private let count = 3
    private let shortest: Duration = .milliseconds(500)
    /// Whoever is told to come back later than this, does so in another run.
    private let longest: Duration = .seconds(60)
    private var made = 0

    /// Waits before the next try; false when there is none left.
    mutating func next(isPassing: Bool, retryAfter: Timestamp?, clock: WallClock) async -> Bool {
        made += 1
        guard isPassing, made < count, !Task.isCancelled else { return false }
        var pause = shortest * (1 << min(made, 10)) * Double.random(in: 0.5...1)
        if let retryAfter { pause = max(pause, retryAfter - clock.now()) }
        guard pause <= longest else { return false }
        do { try await Task.sleep(for: pause) } catch { return false }
        return true
    }
}
