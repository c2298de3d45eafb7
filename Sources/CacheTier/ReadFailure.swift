/// Why there is no answer: neither the store nor memory could give one. It is never answered by "has nothing".
package enum ReadFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Redis did not reply, and the customer is not in memory.
    case storeUnreachable(String)
    /// What Redis holds of the customer cannot be read by this version.
    case storeUnreadable(String)

    package var description: String {
        switch self {
        case .storeUnreachable(let why): "the store is unreachable: \(why)"
        case .storeUnreadable(let why): "the store is unreadable: \(why)"
        }
    }
}
