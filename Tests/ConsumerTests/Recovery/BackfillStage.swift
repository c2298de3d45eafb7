import AppStore
import Broker
import CacheTier
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Time

@testable import Consumer

/// A backfill before a simulated store, a real Redis and a publisher that remembers.
struct BackfillStage {
    let apple: SimulatedApple
    let redis: RedisClient
    let app = AppID(RedisServer.uniqueApp("backfill"))
    let jobs: RecoveryStore
    let seen: SeenNotifications
    let settings: RecoverySettings

    static func with(
        environment: StoreEnvironment = .production, lanes: Int = 2,
        _ body: (BackfillStage) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        try await SimulatedApple.with(environment: environment) { apple in
            let loop = try EventLoop(name: "backfill-redis")
            var redisSettings = RedisSettings()
            redisSettings.port = server.port
            redisSettings.commandTimeout = .seconds(30)
            let redis = RedisClient(name: "backfill", settings: redisSettings, loop: loop)
            await redis.start()
            let result: Result<Void, any Error>
            do { result = .success(try await body(BackfillStage(apple, redis, lanes))) } catch {
                result = .failure(error)
            }
            await redis.close()
            loop.stop()
            try result.get()
        }
    }

    private init(_ apple: SimulatedApple, _ redis: RedisClient, _ lanes: Int) {
        self.apple = apple
        self.redis = redis
        var settings = RecoverySettings()
        settings.lanes = lanes
        self.settings = settings
        jobs = RecoveryStore(
            redis: redis, app: app, environment: apple.client.environment, settings: settings, clock: apple.clock.wall,
            leaseTime: .seconds(20))
        seen = SeenNotifications(redis: redis, settings: settings, clock: apple.clock.wall)
    }

    func backfill(_ publisher: any MessagePublisher, client: ServerAPIClient? = nil) -> Backfill {
        Backfill(
            app: app, client: client ?? apple.client, verifier: apple.verifier, seen: seen, publisher: publisher,
            names: BrokerNames(prefix: "test"), settings: settings, applyPatience: .zero, clock: apple.clock.wall)
    }

    func job(
        _ name: String = "command-1", from: Duration = .seconds(3600), taking: RecoveryJob.Taking = .missing
    ) -> RecoveryJob {
        let now = apple.clock.now
        var job = RecoveryJob(
            name: name, cause: .command, phase: .history,
            history: BackfillProgress(from: now - from, until: now, lanes: settings.lanes), at: now)
        job.taking = taking
        return job
    }

    /// As if a consumer had settled what was published.
    func settle(_ uuids: [String]) async throws {
        for uuid in uuids { try await seen.note(uuid, of: app, in: apple.client.environment) }
    }
}

/// Publishes into a memory, as a consumer settles it at once; fails when told to.
final class SettlingPublisher: MessagePublisher {
    private let state = Mutex<(messages: [BrokerMessage], room: Int)>(([], .max))
    private let seen: SeenNotifications?

    init(_ seen: SeenNotifications? = nil) { self.seen = seen }

    var isConnected: Bool { true }
    var messages: [BrokerMessage] { state.withLock { $0.messages } }
    var uuids: [String] { messages.compactMap(\.messageID) }

    /// Takes so many more.
    func makeRoom(_ count: Int) { state.withLock { $0.room = count } }

    func publish(
        _ message: BrokerMessage, to exchange: String, routingKey: String, mandatory: Bool
    ) async throws(BrokerError) {
        let isTaken = state.withLock { state in
            guard state.room > 0 else { return false }
            state.room -= 1
            state.messages.append(message)
            return true
        }
        guard isTaken else { throw BrokerError(.nacked, "told to refuse") }
        guard let seen, let uuid = message.messageID, let app = message.headers[MessageHeader.app],
            let environment = message.headers[MessageHeader.environment].flatMap(StoreEnvironment.init(rawValue:))
        else { return }
        do throws(StoreError) { try await seen.note(uuid, of: AppID(app), in: environment) } catch {
            throw BrokerError(.closed, "\(error)")
        }
    }
}
