internal import AppStore
internal import HTTP
package import Runtime
package import Time

/// A fake App Store: lives its accounts' lives on the clock, tells the gateway of them as Apple would, and serves the
/// App Store Server API and an API to control it.
///
/// Everything the control API does is a method here too, for tests in the same process.
package actor Simulator: Service {
    package nonisolated let name = "simulator"
    package nonisolated let settings: SimulatorSettings
    package nonisolated let identity: SimulatorIdentity
    nonisolated let signer: NotificationSigner
    nonisolated let tokens: APITokenVerifier
    let clock: WallClock
    let log: Log
    private let loop: EventLoop
    private let client: HTTPClient
    private nonisolated let server: HTTPServer
    private nonisolated let handler: SimulatorHandler

    var store: Store
    var outbox: Outbox
    var events: EventLog
    package var apiBehaviour = APIBehaviour()
    var rate = RateWindow()
    var random: StoreRandom
    /// By test notification token.
    var testNotifications: [String: String] = [:]
    var held: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var eventWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter: UInt64 = 0
    private var inFlight = 0
    private var sendLimit: Int
    private var bodies: [String: [UInt8]] = [:]
    private var burst: BurstLedger?
    private var burstDeadline: EventLoop.TimerID?
    private var timer: EventLoop.TimerID?
    private var isDraining = false
    private var drained: CheckedContinuation<Void, Never>?

    nonisolated package var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// `loops` serve HTTP; the first also carries the simulator itself and its client.
    package init(
        settings: SimulatorSettings, identity: SimulatorIdentity, loop: EventLoop, serverLoops: [EventLoop],
        clock: WallClock = .system, metrics: Metrics = Metrics(), log: Log
    ) {
        self.settings = settings
        self.identity = identity
        self.loop = loop
        self.clock = clock
        self.log = log
        let store = Store(settings: settings.store, catalog: settings.catalog, at: clock.now())
        self.store = store
        signer = NotificationSigner(
            authority: identity.authority, settings: settings.store, storefront: store.storefront)
        tokens = APITokenVerifier(identity: identity, bundleID: settings.store.bundleID)
        outbox = Outbox(settings: settings.store, capacity: settings.maximumHistory)
        events = EventLog(capacity: settings.maximumEvents)
        random = StoreRandom(seed: settings.store.seed ^ 0xA91)
        sendLimit = settings.connections
        client = HTTPClient(settings: settings.client, loop: loop)
        let handler = SimulatorHandler()
        self.handler = handler
        var http = HTTPServerSettings(name: "simulator", address: settings.address)
        http.bodyBytes = 1 << 20
        server = HTTPServer(settings: http, loops: serverLoops, handler: handler, metrics: metrics, log: log)
    }

    /// The port of both APIs; 0 before `start`.
    package nonisolated var boundPort: Int { server.boundPort }
    package nonisolated var url: String { "http://127.0.0.1:\(boundPort)" }

    // MARK: Service

    package func start() async throws {
        handler.serve(self)
        try await server.start()
        pump()
    }

    /// Sends nothing new and waits for the answers to what is under way.
    package func drain() async {
        isDraining = true
        disarm()
        releaseAll()
        await server.drain()
        if inFlight > 0 { await withCheckedContinuation { drained = $0 } }
        await client.close()
    }

    // MARK: The store's life

    /// Lets everything happen that is due by now and says what time that is.
    @discardableResult
    package func tick() -> Timestamp {
        let now = clock.now()
        publish(store.advance(to: now), at: now)
        return now
    }

    package func createAccount(_ token: String? = nil) throws(StoreError) -> String {
        let now = tick()
        guard store.accountTokens.count < settings.maximumAccounts else {
            throw StoreError(.notEligible, "account", "there are \(settings.maximumAccounts) accounts already")
        }
        let (token, events) = try store.createAccount(token: token, at: now)
        publish(events, at: now)
        return token
    }

    /// Does what the account wants and returns what came of it.
    @discardableResult
    package func perform(_ command: StoreCommand, for account: String) throws(StoreError) -> [StoreEvent] {
        let now = tick()
        let events = try store.perform(command, for: account.lowercased(), at: now)
        publish(events, at: now)
        return events
    }

    /// Sends Apple's TEST notification; the token asks later what became of it.
    package func requestTestNotification() -> (token: String, uuid: String) {
        let now = tick()
        let event = store.testNotification(at: now)
        let uuid = event.notification?.uuid ?? ""
        let token = "\(random.uuid())_\(now.milliseconds)"
        if testNotifications.count >= 10_000 { testNotifications.removeAll() }
        testNotifications[token] = uuid
        publish([event], at: now)
        return (token, uuid)
    }

    /// What an account, or every account, may use right now.
    package func truth(of account: String? = nil) -> [StoreTruth] { store.truth(of: account, at: tick()) }

    package var sendingBehaviour: SendingBehaviour {
        get { outbox.behaviour }
        set {
            outbox.behaviour = newValue
            pump()
        }
    }

    package func setBehaviour(sending: SendingBehaviour? = nil, api: APIBehaviour? = nil) {
        if let sending { sendingBehaviour = sending }
        if let api {
            apiBehaviour = api
            if !api.isDark { releaseHeld() }
        }
    }

    /// What became of a notification.
    package func delivery(of uuid: String) -> Outbox.Entry? { outbox.entry(uuid) }

    /// Notifications in the order they came about.
    package func deliveries(after sequence: UInt64 = 0, limit: Int = .max) -> [Outbox.Entry] {
        Array(outbox.entries(after: sequence).prefix(limit))
    }

    /// What happened after `sequence`, at most `limit`; waits up to `wait` for something to happen.
    package func events(
        after sequence: UInt64 = 0, limit: Int = 1000, wait: Duration = .zero
    ) async -> [SimulatorEvent] {
        tick()
        if events.lastSequence <= sequence, wait > .zero, !isDraining, eventWaiters.count < 1000 {
            lastWaiter += 1
            let number = lastWaiter
            await withCheckedContinuation { continuation in
                eventWaiters[number] = continuation
                loop.schedule(after: wait) {
                    self.assumeIsolated { $0.eventWaiters.removeValue(forKey: number)?.resume() }
                }
            }
        }
        return events.events(after: sequence, limit: limit)
    }

    func publish(_ happened: [StoreEvent], at now: Timestamp) {
        for event in happened {
            record(events.add(event))
            if let notification = event.notification, settings.notificationURL != nil {
                outbox.add(notification, at: now)
                if outbox.entry(notification.uuid)?.state == .lost { burst?.finish(notification.uuid, .lost) }
            }
        }
        pump()
    }

    private func record(_ event: SimulatorEvent) {
        for waiter in eventWaiters.values { waiter.resume() }
        eventWaiters.removeAll()
        log.debug("event", ["name": .init(event.name), "account": .init(event.account ?? "")])
    }

    // MARK: Sending

    /// Starts what is due, as many at once as allowed, and sets the alarm for what comes next.
    private func pump() {
        guard !isDraining else { return }
        while inFlight < sendLimit, let url = settings.notificationURL, let sending = outbox.take(by: clock.now()) {
            inFlight += 1
            let body = bodies.removeValue(forKey: sending.notification.uuid)
            Task(name: "deliver") { await self.deliver(sending, to: url, body) }
        }
        arm()
    }

    private func deliver(_ sending: Outbox.Sending, to url: String, _ presigned: [UInt8]?) async {
        let result: SendAttempt.Result
        do {
            let body = if let presigned { presigned } else { try await signer.body(of: sending.notification) }
            let response = try await client.send(
                HTTPClientRequest(.post, url, headers: ["Content-Type": "application/json"], body: body))
            result = (200...206).contains(response.status) ? .success : .unsuccessfulStatus
        } catch let error as HTTPClientError {
            result = .init(error)
        } catch {
            log.error("notification not signed", ["error": .init(error)])
            result = .other
        }
        let now = clock.now()
        outbox.finish(sending, result, at: now)
        let uuid = sending.notification.uuid
        if !sending.isDuplicate { burst?.finish(uuid, result == .success ? .acknowledged : .failed(result)) }
        record(events.add(sending, result, attempt: outbox.entry(uuid)?.attempts.count ?? 1, at: now))
        inFlight -= 1
        if isDraining, inFlight == 0 { drained.take()?.resume() }
        pump()
    }

    private func arm() {
        disarm()
        // What is due already waits for a POST to end, and that pumps.
        let due = [store.nextDue, inFlight < sendLimit ? outbox.nextDue : nil].compactMap { $0 }.min()
        guard !isDraining, let due else { return }
        let delay = max(.milliseconds(1), due - clock.now())
        timer = loop.schedule(after: min(delay, .seconds(3600))) {
            self.assumeIsolated { simulator in
                simulator.timer = nil
                simulator.tick()
            }
        }
    }

    private func disarm() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    // MARK: Burst

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

    // MARK: Holding back answers

    /// Waits until the API is light again, or a minute has passed: by then every client has given up.
    func hold() async {
        guard !isDraining, held.count < 10_000 else { return }
        lastWaiter += 1
        let number = lastWaiter
        await withCheckedContinuation { continuation in
            held[number] = continuation
            loop.schedule(after: .seconds(60)) { self.assumeIsolated { $0.held.removeValue(forKey: number)?.resume() } }
        }
    }

    private func releaseHeld() {
        for waiter in held.values { waiter.resume() }
        held.removeAll()
    }

    private func releaseAll() {
        releaseHeld()
        for waiter in eventWaiters.values { waiter.resume() }
        eventWaiters.removeAll()
    }
}

extension SendAttempt.Result {
    init(_ error: HTTPClientError) {
        self =
            switch error.code {
            case .timedOut: .timedOut
            case .tls: .tlsIssue
            case .unreachable: .socketIssue
            case .connectionLost: .prematureClose
            case .malformedResponse, .tooLarge: .invalidResponse
            case .invalidRequest, .overloaded, .cancelled, .failed: .other
            }
    }
}
