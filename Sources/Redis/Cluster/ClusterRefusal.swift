/// A refusal by which a cluster's node says where to go, or that it is better to wait. In each case it did not carry the
/// command out, so sending it again repeats nothing.
enum ClusterRefusal: Equatable {
    /// The slot belongs to that node now. Without a host it is the one that said so.
    case moved(slot: Int, host: String?, port: Int)
    /// The slot is on its way to that node, and the key is not here: only this command goes there, after ASKING.
    case ask(host: String?, port: Int)
    /// It cannot be said yet: the slot is moving, or nobody serves it.
    case wait

    /// Nil for any other error.
    init?(_ message: String) {
        let words = message.split(separator: " ")
        switch words.first {
        case "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN": self = .wait
        case "MOVED", "ASK":
            guard words.count >= 3, let slot = Int(words[1]), 0..<HashSlot.count ~= slot,
                let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][words[2].index(after: colon)...]),
                1...65535 ~= port
            else { return nil }
            let host = colon == words[2].startIndex ? nil : String(words[2][..<colon])
            self = words[0] == "MOVED" ? .moved(slot: slot, host: host, port: port) : .ask(host: host, port: port)
        default: return nil
        }
    }
}
