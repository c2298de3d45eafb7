/// Who waits for which confirm. Tags count the messages of one connection from 1, without gaps.
///
/// No I/O, no clock, no lock: instants are told.
struct ConfirmLedger<Waiter> {
    enum Outcome: Equatable {
        case confirmed
        case refused
        /// No queue took it; the text says why.
        case unroutable(String)
    }

    struct Settled {
        let waiter: Waiter
        let outcome: Outcome
        let sentAt: ContinuousClock.Instant
    }

    private struct Entry {
        /// Nil once the waiter has given up; the message stays outstanding.
        var waiter: Waiter?
        let sentAt: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        var returned: String?
        var isSettled = false
    }

    private var entries: [Entry] = []
    /// Entries before it are settled; they are removed now and then, all at once.
    private var head = 0
    /// The tag of `entries[0]`.
    private var firstTag: UInt64 = 1
    private(set) var outstandingCount = 0

    private var lastTag: UInt64 { firstTag &+ UInt64(entries.count) &- 1 }

    /// When the oldest message that is neither confirmed nor refused was sent.
    var oldestSentAt: ContinuousClock.Instant? { head < entries.count ? entries[head].sentAt : nil }

    /// The tag that the next message sent will have.
    var nextTag: UInt64 { lastTag &+ 1 }

    var hasWaiters: Bool { entries[head...].contains { $0.waiter != nil } }

    /// Enters a message as sent.
    mutating func add(_ waiter: Waiter, sentAt: ContinuousClock.Instant, deadline: ContinuousClock.Instant) {
        entries.append(Entry(waiter: waiter, sentAt: sentAt, deadline: deadline))
        outstandingCount += 1
    }

    /// Notes that the broker could not route a message; its confirm is still to come.
    mutating func returned(_ tag: UInt64, reason: String) {
        guard let index = index(of: tag) else { return }
        entries[index].returned = reason
    }

    /// Settles `tag`, or with `multiple` all up to it (0 means all). A tag that was never sent is the broker's mistake;
    /// one settled before is ignored.
    mutating func settle(_ tag: UInt64, multiple: Bool, confirmed: Bool) throws(BrokerError) -> [Settled] {
        guard tag <= lastTag, tag > 0 || multiple else {
            throw BrokerError(.protocolViolation, "a confirm for message \(tag) of \(lastTag)")
        }
        var settled: [Settled] = []
        if multiple {
            let end = tag == 0 ? entries.count : Int(clamping: tag &- firstTag &+ 1)
            if tag == 0 || tag >= firstTag {
                for index in head..<max(head, end) { settle(index, confirmed, &settled) }
            }
        } else if let index = index(of: tag) {
            settle(index, confirmed, &settled)
        }
        while head < entries.count, entries[head].isSettled { head += 1 }
        compact()
        return settled
    }

    /// Takes the waiters whose deadline has come; their messages stay outstanding and may still be confirmed.
    mutating func expire(by now: ContinuousClock.Instant) -> [Waiter] {
        var expired: [Waiter] = []
        for index in head..<entries.count {
            // Deadlines follow the order of sending.
            if entries[index].deadline > now { break }
            if let waiter = entries[index].waiter.take() { expired.append(waiter) }
        }
        return expired
    }

    /// The earliest deadline of somebody who waits.
    var nextDeadline: ContinuousClock.Instant? { entries[head...].first { $0.waiter != nil }?.deadline }

    /// Starts over for a new connection and returns all who waited on the old one.
    mutating func reset() -> [Waiter] {
        defer { self = ConfirmLedger() }
        return entries.compactMap(\.waiter)
    }

    private func index(of tag: UInt64) -> Int? {
        guard tag >= firstTag, tag <= lastTag else { return nil }
        return Int(tag - firstTag)
    }

    private mutating func settle(_ index: Int, _ confirmed: Bool, _ settled: inout [Settled]) {
        guard !entries[index].isSettled else { return }
        entries[index].isSettled = true
        outstandingCount -= 1
        guard let waiter = entries[index].waiter.take() else { return }
        let outcome: Outcome =
            if !confirmed { .refused } else if let reason = entries[index].returned { .unroutable(reason) } else {
                .confirmed
            }
        settled.append(Settled(waiter: waiter, outcome: outcome, sentAt: entries[index].sentAt))
    }

    private mutating func compact() {
        guard head > 256, head * 2 > entries.count else { return }
        entries.removeFirst(head)
        firstTag &+= UInt64(head)
        head = 0
    }
}
