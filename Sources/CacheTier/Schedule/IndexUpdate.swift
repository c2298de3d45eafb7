internal import Redis
internal import Time

/// What a write does to one index: a sorted set in the partition of the holder, written by the script that writes the
/// record, so that neither is ever without the other.
struct IndexUpdate: Sendable, Hashable {
    /// Which of two scores stays when the member is there already.
    enum Keeping: String, Sendable {
        case first = "NX"
        case earliest = "LT"
        case latest = ""
    }

    let key: String
    let member: String
    /// Nil removes it.
    let score: Timestamp?
    var keeping = Keeping.latest

    /// What `StoreScripts.write` wants to hear.
    var arguments: [RedisArgument] {
        [.text(member), score.map { RedisArgument($0.milliseconds) } ?? "", .text(keeping.rawValue)]
    }
}
