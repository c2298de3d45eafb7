/// The messages that wait to be sent, in their order, bounded in number and in bytes.
struct SendQueue {
    struct Item {
        let message: BrokerMessage
        let exchange: String
        let routingKey: String
        let isMandatory: Bool
        let deadline: ContinuousClock.Instant
        let waiter: PublishWaiter
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private var items: [Item?] = []
    private var head = 0
    private var bytes = 0

    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    var count: Int { items.count - head }
    var isEmpty: Bool { count == 0 }
    var nextDeadline: ContinuousClock.Instant? { isEmpty ? nil : items[head]?.deadline }

    /// False when there is no room for it.
    mutating func append(_ item: Item) -> Bool {
        guard count < maximumCount, bytes + item.message.body.count <= maximumBytes else { return false }
        bytes += item.message.body.count
        items.append(item)
        return true
    }

    mutating func takeFirst() -> Item? {
        guard !isEmpty, let item = items[head].take() else { return nil }
        bytes -= item.message.body.count
        head += 1
        if head == items.count || head > 1024 {
            items.removeFirst(head)
            head = 0
        }
        return item
    }

    /// Takes the waiters of those whose deadline has come; they were never sent.
    mutating func expire(by now: ContinuousClock.Instant) -> [PublishWaiter] {
        var expired: [PublishWaiter] = []
        while let deadline = nextDeadline, deadline <= now, let item = takeFirst() { expired.append(item.waiter) }
        return expired
    }

    mutating func removeAll() -> [PublishWaiter] {
        defer { self = SendQueue(maximumCount: maximumCount, maximumBytes: maximumBytes) }
        return items.compactMap { $0?.waiter }
    }
}

/// One place in a batch.
struct PublishWaiter {
    let batch: PublishBatch
    let index: Int

    /// Tells what became of the message; nil for confirmed.
    func resume(returning error: BrokerError?) { batch.settle(index, error) }
}

/// Messages published by one call, which returns once all are settled.
final class PublishBatch {
    private var errors: [BrokerError?]
    private var left: Int
    private let caller: CheckedContinuation<[BrokerError?], Never>

    init(count: Int, caller: CheckedContinuation<[BrokerError?], Never>) {
        errors = Array(repeating: nil, count: count)
        left = count
        self.caller = caller
    }

    fileprivate func settle(_ index: Int, _ error: BrokerError?) {
        errors[index] = error
        left -= 1
        if left == 0 { caller.resume(returning: errors) }
    }
}
