internal import Runtime
internal import Time

/// Many purchases at once.
extension Simulator {
    /// Opens `count` accounts that each buy `productID`, and sends their notifications over `connections` at once as
    /// fast as they are taken. They are signed before the first is sent, so that the pace is the receiver's. Returns
    /// when each has been tried once, or after `deadline`; what failed is tried again on Apple's schedule.
    package func burst(
        _ count: Int, productID: String, connections: Int = 64, deadline: Duration = .seconds(300)
    ) async throws(BurstError) -> BurstResult {
        guard burst == nil else { throw .underWay }
        guard settings.notificationURL != nil else { throw .noURL }
        let ledger = BurstLedger()
        burst = ledger
        defer {
            burst = nil
            if let burstDeadline { loop.cancel(burstDeadline) }
            sendLimit = settings.connections
        }
        let happened: [StoreEvent]
        do throws(StoreError) { happened = try await buyInBulk(count, productID) } catch { throw .refused(error) }
        let notifications = happened.compactMap(\.notification)
        ledger.expect(notifications)
        for (uuid, body) in await signed(notifications) { bodies[uuid] = body }
        defer { for notification in notifications { bodies[notification.uuid] = nil } }

        sendLimit = max(settings.connections, min(connections, SimulatorSettings.maximumConnections))
        let start = ContinuousClock.now
        publish(happened, at: clock.now())
        if !ledger.isDone {
            await withCheckedContinuation { continuation in
                ledger.whenDone = { continuation.resume() }
                burstDeadline = loop.schedule(after: deadline) { self.assumeIsolated { $0.burst?.giveUp() } }
            }
        }
        return ledger.result(took: ContinuousClock.now - start)
    }

    private func buyInBulk(_ count: Int, _ productID: String) async throws(StoreError) -> [StoreEvent] {
        var happened: [StoreEvent] = []
        happened.reserveCapacity(2 * count)
        guard store.accountTokens.count + count <= settings.maximumAccounts else {
            throw StoreError(.notEligible, "count", "there may be \(settings.maximumAccounts) accounts at most")
        }
        for index in 0..<count {
            let now = index.isMultiple(of: 500) ? tick() : clock.now()
            let (token, created) = try store.createAccount(at: now)
            happened += created
            happened += try store.buy(productID, by: token, at: now)
            if index.isMultiple(of: 500) { await Task.yield() }
        }
        return happened
    }

    private func signed(_ notifications: [StoreNotification]) async -> [(String, [UInt8])] {
        let signer = signer
        let share = max(1, notifications.count / 4 + 1)
        return await withTaskGroup { group in
            for start in stride(from: 0, to: min(notifications.count, Self.maximumPresigned), by: share) {
                let part = notifications[start..<min(start + share, notifications.count, Self.maximumPresigned)]
                group.addTask {
                    var bodies: [(String, [UInt8])] = []
                    for notification in part {
                        // What cannot be signed now is tried again when it is sent, and fails there.
                        if let body = try? await signer.body(of: notification) {
                            bodies.append((notification.uuid, body))
                        }
                    }
                    return bodies
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Twenty kilobytes each: the rest of a larger burst is signed on the way.
    private static let maximumPresigned = 10_000
}
