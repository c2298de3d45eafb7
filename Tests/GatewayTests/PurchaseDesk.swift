import AppStore
import Entitlements
import HTTP
import JSON
import Redis
import Runtime
import Synchronization
import TestSupport
import Time

@testable import CacheTier
@testable import Gateway

/// The routes for backends and support, with a store and queues that do what they are told.
struct PurchaseDesk {
    let store = FakePurchaseStore()
    let archive = FakeArchive()
    let broker = DeskSink()
    let spool = DeskSink()
    let metrics = Metrics()
    let routes: GatewayRoutes
    private let loop: EventLoop

    static let keys = [
        BearerKey(name: "reader", key: "reader-reader-reader", scopes: [.read]),
        BearerKey(name: "writer", key: "writer-writer-writer", scopes: [.write]),
        BearerKey(name: "admin", key: "admin-admin-admin-admin", scopes: [.admin]),
        BearerKey(name: "support", key: "support-support-support", scopes: [.support]),
        BearerKey(name: "other", key: "other-other-other-other", scopes: [.write], apps: [AppID("other")]),
    ]

    /// The cache has no Redis, and so nothing to say.
    init(claimLimit: Duration = .seconds(20)) throws {
        loop = try EventLoop(name: "desk")
        var redis = RedisSettings()
        redis.port = 1
        let apps = [AppID("demo"), AppID("other")]
        let cache = EntitlementCache(
            settings: CacheSettings(), redis: redis.connector(loop: loop), rules: [:], metrics: metrics,
            log: .discarding)
        let keys = BearerKeys(Self.keys)
        let durable = IntakeStore(broker: broker, spool: spool, log: .discarding)
        routes = GatewayRoutes(
            intake: NotificationIntake(
                apps: apps, judge: try Sender.trusted.get().judge, store: durable, metrics: metrics, log: .discarding),
            reads: EntitlementRoutes(
                cache: cache,
                refresher: Refresher(source: .none, durable: durable, metrics: metrics, log: .discarding), keys: keys,
                apps: apps, metrics: metrics, log: .discarding),
            explanations: ExplanationRoutes(
                cache: cache, archive: archive, keys: keys, apps: apps, limit: .seconds(20), log: .discarding),
            purchases: PurchaseRoutes(
                intake: PurchaseIntake(store: store, durable: durable, patience: claimLimit, log: .discarding),
                judge: try Sender.trusted.get().purchases.judge([AppID("demo"): Sender.identity]), cache: cache,
                keys: keys,
                apps: apps, bodyBytes: 1 << 20, readLimit: .seconds(20), metrics: metrics, log: .discarding),
            lineages: LineageRoutes(
                archive: archive, cache: cache, keys: keys, apps: apps, rules: [:], limit: .seconds(20),
                log: .discarding))
    }

    func end() { loop.stop() }

    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let json: JSONValue
        let text: String

        init(_ response: HTTPResponse) throws {
            status = response.status
            headers = response.headers
            text = String(decoding: response.body, as: UTF8.self)
            json = try JSONValue.parse(response.body)
        }

        /// The decisions in their order.
        var decisions: [String] { json["purchases"]?.array?.compactMap { $0["decision"]?.string } ?? [] }
        var problem: String? { json["type"]?.string?.split(separator: ":").last.map(String.init) }
    }

    func post(
        _ transactions: [String], renewals: [String] = [], query: String? = nil, key: String = "writer-writer-writer"
    ) async throws -> Answer {
        var json = JSONWriter()
        json.beginObject()
        json.array("signedTransactions", transactions) { json, text in json.string(text) }
        json.array("signedRenewalInfos", renewals) { json, text in json.string(text) }
        json.endObject()
        return try await post(body: json.bytes, query: query, key: key)
    }

    func post(
        body: [UInt8], query: String? = nil, key: String? = "writer-writer-writer", app: String = "demo",
        customer: String = "anna"
    ) async throws -> Answer {
        try await send(
            "POST", "/v1/apps/\(app)/customers/\(customer)/transactions", query: query, key: key, body: body)
    }

    func get(_ path: String, query: String? = nil, key: String? = "support-support-support") async throws -> Answer {
        try await send("GET", path, query: query, key: key)
    }

    /// Through all that the server asks of its handler.
    func send(
        _ method: String, _ path: String, query: String? = nil, key: String?, body: [UInt8] = []
    ) async throws -> Answer {
        var headers: HTTPHeaders = ["X-Correlation-ID": "call-7"]
        if let key { headers.append("Authorization", "Bearer \(key)") }
        let head = HTTPRequestHead(method: method, path: path, query: query, headers: headers)
        switch routes.admit(head) {
        case .refuse(let response): return try Answer(response)
        case .body(let limit) where body.count > limit: return try Answer(HTTPResponse.json([0x7B, 0x7D], status: 413))
        case .body, nil: break
        }
        switch routes.respond(to: HTTPRequest(head: head, body: body)) {
        case .now(let response): return try Answer(response)
        case .later(let work): return try Answer(await work())
        }
    }

    /// What was published, wherever it went.
    var messages: [PurchaseMessage] {
        get throws { try (broker.stored + spool.stored).map { try PurchaseMessage(decoding: $0.body) } }
    }

    func count(_ name: String, _ labels: Metrics.Labels) -> UInt64 { metrics.counter(name, "", labels: labels).value }
}

/// Decides as it is told to.
final class FakePurchaseStore: PurchaseStore {
    struct Call: Sendable, Hashable {
        let lineage: String
        let customer: String
        let isForced: Bool
        let writes: Bool
    }

    private struct State {
        var isReachable = true
        var failure: StoreError?
        var decisions: [String: ClaimDecision] = [:]
        var calls: [Call] = []
        var isStuck: Set<String> = []
    }

    private let state = Mutex(State())

    var isReachable: Bool { state.withLock { $0.isReachable } }
    var calls: [Call] { state.withLock { $0.calls } }
    func goAway() { state.withLock { $0.isReachable = false } }
    func fail(_ error: StoreError) { state.withLock { $0.failure = error } }
    func decide(_ decision: ClaimDecision, about lineage: String) {
        state.withLock { $0.decisions[lineage] = decision }
    }
    /// Never says anything about it.
    func getStuck(at lineage: String) { state.withLock { _ = $0.isStuck.insert(lineage) } }

    func takeIn(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> PurchaseDecision {
        let decision = try await decision(lineage, customer, instant, isForced, writes: true)
        var claim: ClaimFact?
        if case .accepted(let fact, _) = decision { claim = fact }
        return PurchaseDecision(decision: decision, changed: true, claim: claim, revision: 3)
    }

    func foresee(
        _ lineage: VerifiedPurchases.Lineage, for customer: String, at instant: Timestamp, isForced: Bool
    ) async throws(StoreError) -> ClaimDecision {
        try await decision(lineage, customer, instant, isForced, writes: false)
    }

    private func decision(
        _ lineage: VerifiedPurchases.Lineage, _ customer: String, _ instant: Timestamp, _ isForced: Bool, writes: Bool
    ) async throws(StoreError) -> ClaimDecision {
        let id = lineage.id.originalTransactionID
        let (failure, told, isStuck) = state.withLock { state in
            state.calls.append(Call(lineage: id, customer: customer, isForced: isForced, writes: writes))
            return (state.failure, state.decisions[id], state.isStuck.contains(id))
        }
        // Cancelled by nobody: it ends with the process, as a command to a Redis that is silent ends with its timeout.
        if isStuck { try? await Task.sleep(for: .seconds(3600)) }
        if let failure { throw failure }
        return told
            ?? .accepted(
                ClaimFact(
                    customer: customer, claimedAt: instant, transactionID: lineage.transaction.transactionID),
                from: [])
    }
}

/// Keeps what it is given, unless it was told to refuse.
final class DeskSink: MessageSink {
    private let state = Mutex<(stored: [IntakeMessage], refuses: Bool)>(([], false))

    var stored: [IntakeMessage] { state.withLock { $0.stored } }
    func refuse() { state.withLock { $0.refuses = true } }

    var isHealthy: Bool { true }

    func store(_ message: IntakeMessage) async throws(SinkFailure) {
        let refuses = state.withLock { state in
            if !state.refuses { state.stored.append(message) }
            return state.refuses
        }
        if refuses { throw .unavailable("told to refuse") }
    }
}

/// Has what it was given.
final class FakeArchive: LineageArchive {
    private struct State {
        var lineages: [LineageID: FoundLineage] = [:]
        var histories: [LineageID: [HistoryEntry]] = [:]
        var page = UnclaimedPage()
        var asked: [String] = []
        var isAway = false
    }

    private let state = Mutex(State())

    var asked: [String] { state.withLock { $0.asked } }
    func goAway() { state.withLock { $0.isAway = true } }
    func keep(_ found: FoundLineage, _ history: [HistoryEntry]) {
        state.withLock { state in
            state.lineages[found.record.lineage] = found
            state.histories[found.record.lineage] = history
        }
    }
    func keep(_ page: UnclaimedPage) { state.withLock { $0.page = page } }

    private func answer<Value>(_ body: (inout sending State) -> Value) throws(StoreError) -> Value {
        guard !state.withLock({ $0.isAway }) else { throw .redis(RedisError(.unreachable, "told to be away")) }
        return state.withLock { state in body(&state) }
    }

    func find(_ id: LineageID) async throws(StoreError) -> FoundLineage? { try answer { $0.lineages[id] } }

    func history(of id: LineageID) async throws(StoreError) -> [HistoryEntry] {
        try answer { $0.histories[id] ?? [] }
    }

    func unclaimed(
        _ app: AppID, _ environment: StoreEnvironment, after cursor: String?, limit: Int
    ) async throws(StoreError) -> UnclaimedPage {
        try answer { state in
            state.asked.append("\(app) \(environment.rawValue) \(cursor ?? "-") \(limit)")
            return state.page
        }
    }

    func unclaimedCount(_ app: AppID, _ environment: StoreEnvironment) async throws(StoreError) -> Int {
        try answer { $0.page.lineages.count }
    }
}

extension Sender {
    /// Of every app of the tests.
    static let identity = AppIdentity(bundleID: "com.example.demo", appAppleID: 1_234_567)

    /// Trusts this sender's root only.
    var purchases: PurchaseVerifier {
        get throws { PurchaseVerifier(JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER]))) }
    }

    /// A signed transaction: a month from now on.
    func transaction(
        _ id: String, original: String? = nil, token: String? = nil, environment: String = "Sandbox",
        bundle: String = "com.example.demo", signedDate: Timestamp = WallClock.system.now()
    ) throws -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("transactionId", id)
        json.member("originalTransactionId", original ?? id)
        json.member("bundleId", bundle)
        json.member("productId", "pro.monthly")
        json.member("purchaseDate", signedDate.milliseconds)
        json.member("expiresDate", (signedDate + .seconds(30 * 86_400)).milliseconds)
        json.member("type", "Auto-Renewable Subscription")
        json.member("inAppOwnershipType", "PURCHASED")
        if let token { json.member("appAccountToken", token) }
        json.member("signedDate", signedDate.milliseconds)
        json.member("environment", environment)
        json.endObject()
        return try authority.sign(json.bytes)
    }
}
