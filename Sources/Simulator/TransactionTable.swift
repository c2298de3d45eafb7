/// Transactions by id, each stamped when it comes and whenever it changes: Apple sorts histories by that.
package struct TransactionTable: Sendable {
    private var byID: [String: StoreTransaction] = [:]
    /// The last stamp given.
    private(set) var lastChange: UInt64 = 0

    package var count: Int { byID.count }

    package subscript(id: String) -> StoreTransaction? {
        get { byID[id] }
        set {
            guard var transaction = newValue else {
                byID[id] = nil
                return
            }
            guard transaction != byID[id] else { return }
            lastChange &+= 1
            transaction.change = lastChange
            byID[id] = transaction
        }
    }

    /// That it was delivered is no news of the transaction: it keeps its place in histories.
    mutating func finish(_ id: String) { byID[id]?.isFinished = true }
}
