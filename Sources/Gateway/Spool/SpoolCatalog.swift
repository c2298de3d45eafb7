/// What the spool consists of at this moment: its segments, how far each is durable, how far the drainer has come.
///
/// A plain value: writer and reader share it under a lock, and neither holds the lock while it waits for the disk.
struct SpoolCatalog: Sendable {
    struct Segment: Sendable, Hashable {
        let name: SegmentName
        /// What lies below is on the disk and may be read.
        var end: Int
        /// What the file takes of the disk.
        var allocated: Int
        /// Nothing will be appended any more.
        var sealed: Bool
    }

    /// Oldest first.
    private(set) var segments: [Segment] = []
    /// All below are with the broker.
    private(set) var cursor: UInt64 = 1
    /// The sequence of the record that comes next.
    private(set) var next: UInt64 = 1

    var allocatedBytes: Int { segments.reduce(0) { $0 + $1.allocated } }
    /// Records not handed on yet; an upper bound while there are gaps.
    var pending: UInt64 { next > cursor ? next - cursor : 0 }

    /// What was found on the disk. Sequences go on above everything known, so that the cursor never skips a new record.
    init(segments: [Segment] = [], cursor: UInt64 = 1, next: UInt64 = 1) {
        self.segments = segments
        self.cursor = max(1, cursor)
        self.next = max(self.cursor, next)
    }

    mutating func open(_ name: SegmentName, allocated: Int) {
        segments.append(Segment(name: name, end: 0, allocated: allocated, sealed: false))
    }

    /// Gives out `count` sequences, used or not.
    mutating func take(_ count: Int) -> UInt64 {
        defer { next &+= UInt64(count) }
        return next
    }

    mutating func extend(_ name: SegmentName, to end: Int) {
        guard let index = segments.firstIndex(where: { $0.name == name }) else { return }
        segments[index].end = end
    }

    /// Ends a segment where it is durable; one that holds nothing is forgotten.
    mutating func seal(_ name: SegmentName) {
        guard let index = segments.firstIndex(where: { $0.name == name }) else { return }
        if segments[index].end == 0 {
            segments.remove(at: index)
        } else {
            segments[index].sealed = true
            segments[index].allocated = segments[index].end
        }
    }

    /// Moves the cursor up and takes out the segments that nobody needs any more.
    mutating func advance(to sequence: UInt64) -> [SegmentName] {
        cursor = max(cursor, min(sequence, next))
        var drained: [SegmentName] = []
        while let first = segments.first, first.sealed {
            let after = segments.count > 1 ? segments[1].name.first : next
            guard after <= cursor else { break }
            drained.append(first.name)
            segments.removeFirst()
        }
        return drained
    }

    /// The segment in which to look for `sequence`.
    func segment(for sequence: UInt64) -> Segment? {
        segments.last { $0.name.first <= sequence } ?? segments.first
    }

    /// Where reading goes on once all of `name` has been read and nothing follows it: sequences below were given to
    /// appends that failed, or are lost. Nil as long as something does follow. Nil for `name` means no segment at all.
    ///
    /// Sound because a segment is opened before sequences are taken for it.
    func deadEnd(behind name: SegmentName?) -> UInt64? { segments.last?.name == name ? next : nil }

    func segment(_ name: SegmentName) -> Segment? { segments.first { $0.name == name } }

    func segment(after name: SegmentName) -> Segment? {
        guard let index = segments.firstIndex(where: { $0.name == name }), index + 1 < segments.count else {
            return nil
        }
        return segments[index + 1]
    }
}
