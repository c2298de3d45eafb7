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
    let loop: EventLoop
    let client: HTTPClient
    private nonisolated let server: HTTPServer
    private nonisolated let handler: SimulatorHandler

    var store: Store
    var outbox: Outbox
    var events: EventLog
    package var apiBehaviour = APIBehaviour()
    var rate = RateWindow()
    var limits = APILimits()
    package internal(set) var calls = APICallLog()
    /// Requests that failed since the behaviour was set.
    var apiFailures = 0
    var random: StoreRandom
    /// By test notification token.
    var testNotifications: [String: String] = [:]
    var held: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var eventWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter: UInt64 = 0
    var inFlight = 0
    var sendLimit: Int
    var bodies: [String: [UInt8]] = [:]
    var burst: BurstLedger?
    var burstDeadline: EventLoop.TimerID?
    var timer: EventLoop.TimerID?
    var isDraining = false
    var drained: CheckedContinuation<Void, Never>?

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

    /// Tells of the token of a purchase outside the App Store.
    @discardableResult
    package func sendExternalPurchaseToken(
        _ subtype: String = "UNREPORTED", type: ExternalPurchaseToken.TokenType? = nil
    ) -> StoreEvent {
        let now = tick()
        let event = store.externalPurchaseToken(subtype, type: type, at: now)
        publish([event], at: now)
        return event
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
            apiFailures = 0
            limits = APILimits()
            if !api.isDark, !api.outages.contains(where: { $0.kind == .hang }) { releaseHeld() }
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
            var fate: Outbox.Fate?
            if let notification = event.notification, settings.notificationURL != nil {
                fate = outbox.add(notification, at: now)
                if fate == .lost || fate == .lostUnlisted { burst?.finish(notification.uuid, .lost) }
            }
            let truth = event.account.map { store.truth(of: $0, at: now) } ?? []
            record(events.add(event, fate: fate, truth: truth))
        }
        pump()
    }

    func record(_ event: SimulatorEvent) {
        for waiter in eventWaiters.values { waiter.resume() }
        eventWaiters.removeAll()
        log.debug("event", ["name": .init(event.name), "account": .init(event.account ?? "")])
    }

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
        burst?.giveUp()
        for waiter in eventWaiters.values { waiter.resume() }
        eventWaiters.removeAll()
    }
}
