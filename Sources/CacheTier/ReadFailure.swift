/// Why there is no answer: neither the store nor memory could give one. It is never answered by "has nothing".
package enum ReadFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Redis did not reply, and the customer is not in memory.
    case storeUnreachable(String)
    /// Redis lost data and has nothing of the customer; and whether it had is not known here.
    case storeLacksData
    /// What Redis holds of the customer cannot be read by this version.
    case storeUnreadable(String)

    package var description: String {
        switch self {
        case .storeUnreachable(let why): "the store is unreachable: \(why)"
        case .storeLacksData: "the store lost data, and nothing tells whether it had the customer"
        case .storeUnreadable(let why): "the store is unreadable: \(why)"
        }
    }
}
