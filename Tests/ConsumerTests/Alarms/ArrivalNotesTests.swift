import CacheTier
import Entitlements
import Redis
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@testable import Broker
@testable import Consumer

/// Which notifications count as come, and what is shown of it.
@Suite struct ArrivalNotesTests {
    private let redis = FieldsRedis()
    private let metrics = Metrics()
    private let demo = AppID("demo")
    private let later = Forge.now + .seconds(3600)

    private func handler(_ answer: Result<AppliedChange, StoreError> = .changed) throws -> DeliveryHandler {
        var handler = DeliveryHandler(
            apps: [demo: ConsumerApp(identity: Forge.identity)], verifier: try Forge.verifier(),
            store: ScriptedStore(answer), publisher: RecordingPublisher(), names: BrokerNames(prefix: "t"),
            metrics: metrics, clock: clock, log: .discarding)
        handler.arrivals = ArrivalNotes(Arrivals(redis: redis), clock: clock)
        return handler
    }

    private var clock: WallClock { WallClock { [later] in later } }

    private func received(_ seconds: Int64) -> [String: String] {
        [
            MessageHeader.receivedAt: (Forge.now + .seconds(seconds)).rfc3339,
            MessageHeader.environment: "sandbox",
        ]
    }

    private func noted(_ seconds: Int64) -> String { "\((Forge.now + .seconds(seconds)).milliseconds)" }

    @Test func aNotificationCountsAtTheTimeOfItsIntake() async throws {
        let handler = try handler()
        _ = await handler.handle(.of(try Forge.notification(lineage: "1"), headers: received(60)))
        _ = await handler.handle(
            .of(try Forge.notification(lineage: "2", environment: "Production"), headers: received(5)))
        #expect(redis.notes == [noted(60), noted(5)])
        #expect(redis.keys.count == 2)
    }

    @Test func oneAMinuteIsNotedHoweverManyCome() async throws {
        let handler = try handler()
        for second in [61, 62, 119, 120, 70, 180] as [Int64] {
            let body = try Forge.notification(lineage: "\(second)")
            _ = await handler.handle(.of(body, headers: received(second)))
        }
        #expect(redis.notes == [noted(61), noted(120), noted(180)])
    }

    @Test func whatIsInQuarantineHasComeTooAndWhatTheHistoryBroughtHasNot() async throws {
        let handler = try handler()
        let strange = try Forge.notification(lineage: "1", bundle: "com.example.other")
        _ = await handler.handle(.of(strange, headers: received(0)))
        #expect(redis.notes == [noted(0)])
        var headers = received(600)
        headers[MessageHeader.history] = "outage-1"
        _ = await handler.handle(.of(try Forge.notification(lineage: "2"), headers: headers))
        #expect(redis.notes.count == 1)
    }

    @Test func whatCameToTheOtherEnvironmentsAddressSaysNothingOfItsOwn() async throws {
        let handler = try handler()
        var headers = received(0)
        headers[MessageHeader.address] = "production"
        _ = await handler.handle(.of(try Forge.notification(lineage: "1"), headers: headers))
        #expect(redis.notes == [])
    }

    @Test func aGatewayWhoseClockIsAheadDoesNotEndAllSilence() async throws {
        _ = await (try handler()).handle(.of(try Forge.notification(lineage: "1"), headers: received(999_999)))
        #expect(redis.notes == ["\(later.milliseconds)"])
    }

    @Test("Invariant 10: an app that the settings do not know leaves nothing behind")
    func anUnknownAppLeavesNothing() async throws {
        let body = try Forge.notification(lineage: "1")
        _ = await (try handler()).handle(.of(body, app: "stranger", headers: received(0)))
        #expect(redis.notes == [])
    }

    @Test func aRedisThatFailsCostsTheNotificationNothing() async throws {
        redis.fail()
        let result = await (try handler()).handle(.of(try Forge.notification(lineage: "1"), headers: received(0)))
        #expect(result.settlement == .acknowledge)
        check(!result.isTroubled)
    }

    @Test func silenceIsShownByAppAndEnvironment() async throws {
        let watch = ArrivalWatch(
            apps: [demo], arrivals: Arrivals(redis: redis), metrics: metrics, clock: clock, log: .discarding)
        await watch.look()
        for environment in ["production", "sandbox"] {
            #expect(value("holdfast_arrivals_last_timestamp_seconds", environment) == 0)
            #expect(value("holdfast_arrivals_silence_chance", environment) == 1)
            #expect(value("holdfast_arrivals_unusual_silence", environment) == 0)
        }
        // Every minute of five weeks, and an hour of nothing.
        let last = Forge.now.milliseconds / 3_600_000
        var fields = ["first": "\((last - 840) * 3_600_000)", "last": "\(Forge.now.milliseconds)"]
        for hour in (last - 840)...last { fields["\(hour)"] = "60" }
        redis.set(fields)
        await watch.look()
        #expect(value("holdfast_arrivals_last_timestamp_seconds", "production") == 1_764_000_000)
        #expect(value("holdfast_arrivals_unusual_silence", "production") == 1)
        check(value("holdfast_arrivals_silence_chance", "production") < 1e-4)
        // What was seen stays while Redis cannot be asked.
        redis.fail()
        await watch.look()
        #expect(value("holdfast_arrivals_unusual_silence", "production") == 1)
    }

    private func value(_ name: String, _ environment: String) -> Double {
        metrics.gauge(name, "", labels: ["app": "demo", "environment": environment]).value
    }
}

/// Remembers what a script was given, and has one hash under every name.
private final class FieldsRedis: RedisCommands {
    private struct State {
        var notes: [String] = []
        var keys: Set<String> = []
        var fields: [String: String] = [:]
        var fails = false
    }

    private let state = Mutex(State())

    var notes: [String] { state.withLock { $0.notes } }
    var keys: Set<String> { state.withLock { $0.keys } }
    func set(_ fields: [String: String]) { state.withLock { $0.fields = fields } }
    func fail() { state.withLock { $0.fails = true } }

    func send(_ arguments: [RedisArgument]) async throws(RedisError) -> RedisReply {
        let (fields, fails) = state.withLock { ($0.fields, $0.fails) }
        if fails { throw RedisError(.unreachable, "told to") }
        return .array(fields.flatMap { [.bulk(Array($0.key.utf8)), .bulk(Array($0.value.utf8))] })
    }

    func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        let fails = state.withLock { state in
            if case .text(let instant)? = arguments.first { state.notes.append(instant) }
            state.keys.formUnion(keys)
            return state.fails
        }
        if fails { throw RedisError(.unreachable, "told to") }
        return .integer(1)
    }
}
