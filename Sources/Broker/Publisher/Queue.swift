/// First in, first out, in constant time on average.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer {
            head += 1
            if head == elements.count || head > 1024 {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head].take()
    }

    mutating func removeAll() -> [Element] {
        defer { self = Queue() }
        return elements.compactMap(\.self)
    }
}
