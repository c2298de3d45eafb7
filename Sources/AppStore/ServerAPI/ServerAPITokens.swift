internal import Synchronization
internal import Time

/// Makes the bearer token once and gives it out until it is near its end.
final class ServerAPITokens: Sendable {
    private struct Made {
        let text: String
        let at: Timestamp
    }

    private let key: ServerAPIKey
    private let bundleID: String
    private let life: Duration
    private let backdating: Duration
    private let made = Mutex<Made?>(nil)

    init(key: ServerAPIKey, bundleID: String, life: Duration, backdating: Duration) {
        self.key = key
        self.bundleID = bundleID
        self.life = life
        self.backdating = backdating
    }

    /// A token that is good at `now` by the server's clock, with a tenth of its life left at least. One that seems to
    /// come from the future, because a clock was set, is made anew.
    func token(at now: Timestamp) throws(SigningError) -> String {
        let kept = made.withLock { $0 }
        if let kept, now >= kept.at - backdating / 2, now < kept.at + life * 0.9 { return kept.text }
        let text = try ServerAPIToken.make(
            issuerID: key.issuerID, keyID: key.keyID, bundleID: bundleID, key: key.key, now: now, life: life,
            backdating: backdating)
        made.withLock { $0 = Made(text: text, at: now) }
        return text
    }

    func discard() { made.withLock { $0 = nil } }
}
