import AppStore
import Entitlements
import JSON
import Runtime
import Time

@testable import Broker
@testable import Consumer
@testable import Simulator

/// A simulated App Store on one side of a consumer's handler, and a publisher that remembers on the other.
final class EventStage {
    static let account = "0b0efcb7-5f4e-4e0c-8f2c-6a7c2b1b7f10"
    static let start = Forge.now - .seconds(10 * 86_400)

    let publisher: RecordingPublisher
    let records = FoldingStore()
    let requests = RememberedRequests()
    let metrics = Metrics()
    let handler: DeliveryHandler
    var store: Store
    private let signer: NotificationSigner

    init(publisher: RecordingPublisher = RecordingPublisher(), now: Timestamp = Forge.now) throws {
        self.publisher = publisher
        let settings = StoreSettings(appAppleID: Forge.identity.appAppleID ?? 0, environment: .sandbox)
        store = Store(settings: settings, catalog: Self.catalog, at: Self.start)
        _ = try store.createAccount(token: Self.account, at: Self.start)
        signer = NotificationSigner(
            authority: try Forge.authority.get(), settings: settings, storefront: Storefront(code: "USA"))
        handler = DeliveryHandler(
            apps: [AppID("demo"): ConsumerApp(identity: Forge.identity, map: Self.map)], verifier: try Forge.verifier(),
            store: records, refundRequests: requests, publisher: publisher, names: BrokerNames(prefix: "t"),
            metrics: metrics, clock: WallClock { now }, log: .discarding)
    }

    static let map = ProductMap(
        version: "7",
        products: [
            "pro.monthly": .init(entitlements: ["pro"], group: "main", level: 1),
            "basic.monthly": .init(entitlements: ["basic"], group: "main", level: 2),
            "lifetime": .init(entitlements: ["pro"]),
        ])

    private static let catalog = Catalog(
        products: [("pro.monthly", 1), ("basic.monthly", 2)].compactMap { id, level in
            Period("P1M").map {
                StoreProduct(
                    id: id, kind: .autoRenewable(group: "main", level: level, period: $0), price: 9990,
                    offers: [StoreOffer(id: "back", type: .winBack, mode: .payUpFront, period: $0, price: 1990)])
            }
        } + [StoreProduct(id: "lifetime", kind: .nonConsumable, price: 149_990)])

    // MARK: Notifications

    func buy(_ product: String = "pro.monthly", at time: Timestamp = EventStage.start) throws -> StoreTransaction {
        _ = try store.perform(.buy(product), for: Self.account, at: time)
        guard let transaction = store.transactions(of: Self.account).last(where: { $0.product.id == product }) else {
            throw Missing(what: product)
        }
        return transaction
    }

    /// A notification of this type about a transaction, signed now.
    func notification(
        _ type: String, _ subtype: String? = nil, about transaction: StoreTransaction, reason: String? = nil,
        at time: Timestamp = Forge.now
    ) throws -> StoreNotification {
        let event = store.notify(type, subtype, transaction, at: time, consumptionRequestReason: reason)
        guard let notification = event.notification else { throw Missing(what: type) }
        return notification
    }

    /// A notification as the row says it is, about a transaction where it is about one.
    func notification(_ row: NotificationRow, about transaction: StoreTransaction) throws -> StoreNotification {
        let (type, subtype) = (row.type?.rawValue ?? "TOMORROW", row.subtype?.rawValue)
        if row.transaction != .none { return try notification(type, subtype, about: transaction, reason: "LEGAL") }
        let event: StoreEvent
        switch row.object {
        case .data, nil: event = store.announce(type, subtype, .data, at: Forge.now)
        case .summary:
            let key = MassExtension.Key(
                productID: "pro.monthly", requestIdentifier: "6a0f1c64-6a0e-4c0c-9d3e-1b1c2d3e4f50")
            let summary = ExtensionSummary(key: key, storefronts: ["DEU"], succeeded: 5, failed: 1)
            event = store.announce(type, subtype, .summary(summary), at: Forge.now)
        case .externalPurchaseToken:
            event = store.externalPurchaseToken(subtype ?? "", type: .services, at: Forge.now)
        case .appData:
            let bought = AppTransaction(id: "700000001", purchaseDate: Self.start)
            event = store.announce(type, subtype, .appData(bought), at: Forge.now)
        case .unclaimInfo:
            let claims = ["11111111-2222-4333-8444-555555555555"]
            event = store.announce(
                type, subtype, .unclaimInfo(originalTransactionID: transaction.originalID, claims), at: Forge.now)
        }
        guard let notification = event.notification else { throw Missing(what: type) }
        return notification
    }

    // MARK: Deliveries

    @discardableResult
    func deliver(
        _ notification: StoreNotification, again: Bool = false, headers: [String: String] = [:]
    ) async throws -> DeliveryHandler.Result {
        var headers = headers
        headers[MessageHeader.app] = "demo"
        headers[MessageHeader.correlation] = "c-1"
        let body = SignedBody.body(signedPayload: try signer.signedPayload(of: notification))
        return await handler.handle(
            BrokerDelivery(
                message: BrokerMessage(body: body, headers: headers), exchange: "", routingKey: "",
                isRedelivered: again, deliveryCount: 0, streamOffset: nil, tag: 1))
    }

    /// What was published to the exchange `events`, by routing key without app and environment.
    var told: [String] {
        publisher.published.filter { $0.exchange == "t.events" }.map {
            $0.routingKey.split(separator: ".", maxSplits: 2).last.map(String.init) ?? ""
        }
    }

    /// The last event of this name.
    func event(_ name: EventName) throws -> (message: BrokerMessage, body: JSONValue) {
        guard let published = publisher.published.last(where: { $0.message.type == name.rawValue }) else {
            throw Missing(what: name.rawValue)
        }
        return (published.message, try JSONValue.parse(published.message.body))
    }

    struct Missing: Error { let what: String }
}
