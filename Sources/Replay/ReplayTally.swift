package import Consumer
package import Time

/// What became of the messages of a replay.
package struct ReplayTally: Sendable {
    /// A message that cannot be applied, as the consumer puts it into quarantine.
    package struct Refused: Sendable, Hashable {
        package let place: LedgerMessage.Place
        package let app: String?
        package let messageID: String?
        package let receivedAt: Timestamp?
        package let refusal: MessageRefusal
    }

    package static let maximumRefused = 1000

    /// All that were read.
    package var messages = 0
    /// Those that say something about lineages.
    package var news = 0
    /// Verified and without effect on any state, by Apple's type.
    package var noted: [String: Int] = [:]
    package var refusedByReason: [String: Int] = [:]
    /// The first of them.
    package var refused: [Refused] = []
    /// Claims that were refused, of which nothing was posted: there is nothing to fold.
    package var refusedClaims = 0
    /// Of other apps, environments or times than were asked for.
    package var leftOut = 0
    /// Judged by today's date, since nothing says when they came.
    package var undated = 0
    package var firstReceivedAt: Timestamp?
    package var lastReceivedAt: Timestamp?
    package var isInterrupted = false

    package init() {}

    package var refusedCount: Int { refusedByReason.values.reduce(0, +) }
    package var notedCount: Int { noted.values.reduce(0, +) }

    mutating func count(_ judged: JudgedMessage) {
        messages += 1
        if let instant = judged.receivedAt {
            firstReceivedAt = min(firstReceivedAt ?? instant, instant)
            lastReceivedAt = max(lastReceivedAt ?? instant, instant)
        }
        switch judged.verdict {
        case .leftOut:
            leftOut += 1
            return
        case .news: news += 1
        case .refusedClaim: refusedClaims += 1
        case .noted(let type): noted[type, default: 0] += 1
        case .refused(let refusal):
            refusedByReason[refusal.code, default: 0] += 1
            if refused.count < Self.maximumRefused {
                refused.append(
                    Refused(
                        place: judged.place, app: judged.app, messageID: judged.messageID,
                        receivedAt: judged.receivedAt, refusal: refusal))
            }
        }
        if judged.receivedAt == nil { undated += 1 }
    }
}
