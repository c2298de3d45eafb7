import AppStore
import Entitlements
import HTTP
import Runtime
import Simulator
import TestSupport
import Testing
import Time

/// A simulated store and a client that knows its key.
enum SimulatedStore {
    /// A store and a client on loops of their own.
    static func with(
        _ environment: StoreSettings.Environment = .production,
        _ body: (Simulator, ServerAPIClient, JWSVerifier) async throws -> Void
    ) async throws {
        let loops = [try EventLoop(name: "store"), try EventLoop(name: "server"), try EventLoop(name: "client")]
        let catalog = try StoreKitFile.parse(try File.bytes(at: "\(Command.packageFolder)/ops/demo.storekit"))
        let identity = try SimulatorIdentity(makingAt: WallClock.system.now())
        var store = StoreSettings()
        store.environment = environment
        let simulator = Simulator(
            // Nobody listens there: the notifications' fate is a failure, and they are in the history all the same.
            settings: SimulatorSettings(store: store, catalog: catalog, notificationURL: "http://127.0.0.1:1/"),
            identity: identity, loop: loops[0], serverLoops: [loops[1]], log: .discarding)
        try await simulator.start()
        var settings = ServerAPISettings()
        settings.productionURL = simulator.url
        settings.sandboxURL = simulator.url
        let http = HTTPClient(settings: settings.http, loop: loops[2])
        let client = ServerAPIClient(
            bundleID: store.bundleID, environment: environment == .production ? .production : .sandbox,
            key: ServerAPIKey(keyID: identity.keyID, issuerID: identity.issuerID, key: identity.apiKey),
            settings: settings, http: http, budget: UnlimitedCalls())
        let result: Result<Void, any Error>
        do {
            let verifier = JWSVerifier(roots: try TrustedRoots(der: [identity.authority.rootDER]))
            result = .success(try await body(simulator, client, verifier))
        } catch { result = .failure(error) }
        await http.close()
        await simulator.drain()
        for loop in loops { loop.stop() }
        try result.get()
    }

    static func read(_ jws: String, _ verifier: JWSVerifier) throws -> TransactionPayload {
        try verifier.verify(
            Array(jws.utf8)[...], as: TransactionPayload.self, now: WallClock.system.now()
        ).payload
    }
}

/// The client before the simulated store: tokens, limits and signatures as they are meant.
@Suite(.timeLimit(.minutes(6))) struct SimulatedStoreTests {
    @Test func aSubscriptionIsAskedForInEveryWay() async throws {
        try await SimulatedStore.with { simulator, client, verifier in
            let account = try await simulator.createAccount()
            _ = try await simulator.perform(.buy("demo.premium.monthly"), for: account)
            let now = WallClock.system.now()
            var filter = NotificationHistoryFilter(from: now - .seconds(3600), to: now + .seconds(3600))
            filter.notificationType = "SUBSCRIBED"
            // It is in the history once the store has tried to send it.
            var found: String?
            let isThere = try await eventually {
                var notifications = try client.notifications(filter, .support)
                found = try await notifications.next()?.page.notificationHistory.first?.signedPayload
                return found != nil
            }
            #expect(isThere)
            let signed = try #require(found)
            let notification = try NotificationVerifier(verifier).verify(
                signedPayload: Array(signed.utf8)[...],
                for: AppIdentity(bundleID: client.bundleID, appAppleID: 1_234_567_890), now: now)
            let id = try #require(notification.transaction?.payload.originalTransactionID)

            let status = try await client.statuses(id, .support)
            let item = try #require(status.data.first?.lastTransactions.first)
            #expect(item.status == 1)
            #expect(try SimulatedStore.read(try #require(item.signedTransactionInfo), verifier).transactionID == id)
            let one = try await client.transaction(id, .support)
            #expect(try SimulatedStore.read(one.signedTransactionInfo, verifier).productID == "demo.premium.monthly")
            var history = try client.history(id, .support)
            let first = try #require(try await history.next())
            #expect(first.page.signedTransactions.count == 1)
            #expect(first.next.isFinished)

            let identity = AppIdentity(bundleID: client.bundleID, appAppleID: 1_234_567_890)
            let answers = AnswerVerifier(verifier, identity: identity, environment: .production)
            #expect(try answers.transaction(in: one, now: now).payload.transactionID == id)
            #expect(try answers.transactions(in: first.page, now: now).first?.get().payload.transactionID == id)
            let observations = answers.observations(in: status, app: AppID("demo"), now: now)
            #expect(try observations.first?.get().lineage.originalTransactionID == id)
            #expect(try observations.first?.get().status?.status == 1)
            // The same from another app's or environment's side is refused, element by element.
            let others = [
                AnswerVerifier(verifier, identity: identity, environment: .sandbox),
                AnswerVerifier(
                    verifier, identity: AppIdentity(bundleID: "com.example.other", appAppleID: 1),
                    environment: .production),
            ]
            for other in others {
                #expect(throws: VerificationFailure.self) { try other.transaction(in: one, now: now) }
                #expect(throws: VerificationFailure.self) {
                    try other.transactions(in: first.page, now: now).first?.get()
                }
                #expect(throws: VerificationFailure.self) {
                    try other.observations(in: status, app: AppID("demo"), now: now).first?.get()
                }
            }
            let skew = try #require(client.skew)
            #expect(skew < .seconds(5) && skew > .seconds(-5))
        }
    }

    @Test func aTestNotificationMakesItsRound() async throws {
        try await SimulatedStore.with { _, client, _ in
            let token = try await client.requestTestNotification(.support).testNotificationToken
            let isTold = try await eventually {
                try await client.testNotificationStatus(token, .support).sendAttempts.isEmpty == false
            }
            #expect(isTold)
            let status = try await client.testNotificationStatus(token, .support)
            #expect(status.signedPayload != nil)
            #expect(status.sendAttempts.first?.sendAttemptResult != "SUCCESS")
        }
    }

    @Test func theStoresNoIsApplesNo() async throws {
        try await SimulatedStore.with { simulator, client, _ in
            func failure<Value>(_ call: () async throws(ServerAPIFailure) -> Value) async -> ServerAPIFailure? {
                do throws(ServerAPIFailure) {
                    _ = try await call()
                    return nil
                } catch { return error }
            }
            let unknown = await failure { () async throws(ServerAPIFailure) in
                try await client.transaction("99", .support)
            }
            #expect(unknown?.isTransactionNotFound == true)
            let noID = await failure { () async throws(ServerAPIFailure) in try await client.transaction("x", .support)
            }
            #expect(noID?.name == "InvalidTransactionId")
            var behaviour = APIBehaviour()
            behaviour.failStatus = 500
            await simulator.setBehaviour(api: behaviour)
            let broken = await failure { () async throws(ServerAPIFailure) in
                try await client.transaction("99", .support)
            }
            #expect(broken?.kind == .server)
            #expect(broken?.isRetryable == true)
        }
    }
}
