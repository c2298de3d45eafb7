internal import Time

/// What falls due when; the earliest first, equal times in the order they were entered.
///
/// Nothing is ever taken out early: whoever takes an entry asks whether it still holds.
struct Agenda<Item: Sendable>: Sendable {
    private struct Entry: Sendable {
        let due: Timestamp
        let order: UInt64
        let item: Item

        func isBefore(_ other: Entry) -> Bool { (due, order) < (other.due, other.order) }
    }

    private var heap: [Entry] = []
    private var lastOrder: UInt64 = 0

    var count: Int { heap.count }
    var nextDue: Timestamp? { heap.first?.due }

    mutating func add(_ item: Item, due: Timestamp) {
        lastOrder &+= 1
        heap.append(Entry(due: due, order: lastOrder, item: item))
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// The earliest entry that is due at `now`.
    mutating func take(by now: Timestamp) -> (item: Item, due: Timestamp)? {
        guard let first = heap.first, first.due <= now, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.item, first.due)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least])
            {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
