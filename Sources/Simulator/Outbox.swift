package import Time

/// One try to deliver a notification.
package struct SendAttempt: Sendable, Hashable {
    /// Apple's `sendAttemptResult`.
    package enum Result: String, Sendable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        case tlsIssue = "TLS_ISSUE"
        case noResponse = "NO_RESPONSE"
        case socketIssue = "SOCKET_ISSUE"
        case invalidResponse = "INVALID_RESPONSE"
        case prematureClose = "PREMATURE_CLOSE"
        case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        case other = "OTHER"
    }

    package let time: Timestamp
    package let result: Result
}

/// Which notifications are to be sent when, and which have been: pure, time is an argument.
///
/// | environment | tries |
/// |---|---|
/// | production | six: at once, then 1, 12, 24, 48 and 72 hours after the one before, until one is answered 2xx |
/// | sandbox | one |
///
/// The waits are divided by the store's speed. What is not answered yet counts as under way and is never sent twice,
/// unless the behaviour says to duplicate.
///
/// By the behaviour one may be lost or late. The history lists it then as one that was tried in vain, or not at all; a
/// purchase it always lists, since nobody could ask about a subscription that was never heard of.
package struct Outbox: Sendable {
    package enum State: String, Sendable { case waiting, delivered, failed, lost }

    /// What the behaviour does to a notification from the start.
    package enum Fate: String, Sendable { case sent, late, lateUnlisted, lost, lostUnlisted }

    package struct Entry: Sendable {
        package let sequence: UInt64
        package let notification: StoreNotification
        package internal(set) var attempts: [SendAttempt] = []
        package internal(set) var state = State.waiting
        package internal(set) var fate = Fate.sent
        package internal(set) var nextTry: Timestamp?
    }

    /// One POST to make.
    package struct Sending: Sendable {
        package let notification: StoreNotification
        /// A copy that the behaviour asked for: Apple's records know nothing of it.
        package let isDuplicate: Bool
    }

    package static let retryWaits: [Duration] = [1, 12, 24, 48, 72].map { .seconds($0 * 3600) }

    package var behaviour = SendingBehaviour()
    private let settings: StoreSettings
    private let capacity: Int
    private var random: StoreRandom
    private var entries: [String: Entry] = [:]
    private var sequenceOf: [UInt64: String] = [:]
    private var firstSequence: UInt64 = 1
    package private(set) var lastSequence: UInt64 = 0
    private var due = Agenda<(uuid: String, isDuplicate: Bool)>()

    /// Forgets the oldest notifications beyond `capacity`, delivered or not.
    package init(settings: StoreSettings, capacity: Int = 100_000) {
        self.settings = settings
        self.capacity = max(1, capacity)
        random = StoreRandom(seed: settings.seed ^ 0x0B0C)
    }

    @discardableResult
    package mutating func add(_ notification: StoreNotification, at now: Timestamp) -> Fate {
        lastSequence &+= 1
        var entry = Entry(sequence: lastSequence, notification: notification)
        entry.fate = fate(of: notification)
        if entry.fate == .late || entry.fate == .lost {
            entry.attempts = [SendAttempt(time: now, result: .noResponse)]
        }
        switch entry.fate {
        case .lost, .lostUnlisted: entry.state = .lost
        case .sent, .late, .lateUnlisted:
            var delay = Int64(behaviour.slowMilliseconds)
            if behaviour.reorderMilliseconds > 0 {
                delay += Int64.random(in: 0...Int64(behaviour.reorderMilliseconds), using: &random)
            }
            if entry.fate != .sent { delay += lateness() }
            let time = now + .milliseconds(delay)
            entry.nextTry = time
            due.add((notification.uuid, false), due: time)
            if random.happens(behaviour.duplicatePercent) { due.add((notification.uuid, true), due: time) }
        }
        entries[notification.uuid] = entry
        sequenceOf[lastSequence] = notification.uuid
        forgetOldest()
        return entry.fate
    }

    private mutating func fate(of notification: StoreNotification) -> Fate {
        let isLost = random.happens(behaviour.losePercent)
        guard isLost || random.happens(behaviour.latePercent) else { return .sent }
        // A subscription is asked about by one of its transactions; what has no renewal is not asked about.
        let isKnown = notification.renewal != nil && notification.type != "SUBSCRIBED"
        if isKnown, random.happens(behaviour.unlistedPercent) { return isLost ? .lostUnlisted : .lateUnlisted }
        return isLost ? .lost : .late
    }

    private mutating func lateness() -> Int64 {
        let most = settings.compressed(.seconds(3600) * behaviour.lateHours) / .milliseconds(1)
        return Int64(Double.random(in: most / 4...most, using: &random))
    }

    /// The next POST that is due at `now`.
    package mutating func take(by now: Timestamp) -> Sending? {
        guard !behaviour.isDark else { return nil }
        while let ((uuid, isDuplicate), _) = due.take(by: now) {
            guard let entry = entries[uuid] else { continue }
            entries[uuid]?.nextTry = nil
            return Sending(notification: entry.notification, isDuplicate: isDuplicate)
        }
        return nil
    }

    /// Records how a try ended and plans the next one if there is to be one.
    package mutating func finish(_ sending: Sending, _ result: SendAttempt.Result, at now: Timestamp) {
        let uuid = sending.notification.uuid
        guard !sending.isDuplicate, var entry = entries[uuid] else { return }
        entry.attempts.append(SendAttempt(time: now, result: result))
        let retry = entry.attempts.count - 1
        if result == .success {
            entry.state = .delivered
        } else if settings.environment == .production, retry < Self.retryWaits.count {
            let time = now + settings.compressed(Self.retryWaits[retry])
            entry.nextTry = time
            due.add((uuid, false), due: time)
        } else {
            entry.state = .failed
        }
        entries[uuid] = entry
    }

    /// When the next POST is due; nil while dark.
    package var nextDue: Timestamp? { behaviour.isDark ? nil : due.nextDue }

    package func entry(_ uuid: String) -> Entry? { entries[uuid] }

    /// Entries after `sequence`, oldest first.
    package func entries(after sequence: UInt64) -> some Sequence<Entry> {
        let first = max(min(sequence, lastSequence) &+ 1, firstSequence)
        return (first..<max(first, lastSequence &+ 1)).lazy.compactMap { number in
            sequenceOf[number].flatMap { entries[$0] }
        }
    }

    package func count(of state: State) -> Int { entries.values.count { $0.state == state } }

    private mutating func forgetOldest() {
        while entries.count > capacity, firstSequence <= lastSequence {
            if let uuid = sequenceOf.removeValue(forKey: firstSequence) { entries[uuid] = nil }
            firstSequence &+= 1
        }
    }
}
