import Entitlements
import Time

@testable import Simulator

/// One environment's store in a life, and what it tells.
struct World {
    private(set) var store: Store
    let facts: AppleFacts
    let route: Route
    /// What has changed since is what the history says that one asks for next.
    private var lastChangeAnswered: UInt64 = 0

    var environment: StoreEnvironment { facts.environment }

    init(_ facts: AppleFacts, _ route: Route) throws {
        self.facts = facts
        self.route = route
        // Both stores count their ids from the same number, so that one id means one thing here and another there.
        store = Store(settings: StoreSettings(seed: 1), catalog: LifeCatalog.catalog, at: LifeCatalog.start)
        for account in LifeCatalog.accounts { _ = try store.createAccount(token: account, at: LifeCatalog.start) }
    }

    mutating func advance(to time: Timestamp, _ census: inout Census) throws -> [Observation] {
        try tell(store.advance(to: time), &census)
    }

    /// Does what the step says, unless the store refuses, which is part of life.
    mutating func perform(_ step: Life.Step, at time: Timestamp, _ census: inout Census) throws -> [Observation] {
        let account = LifeCatalog.accounts[step.account]
        let command: StoreCommand
        switch step.deed {
        case .publish: return []
        case .command(let given): command = given
        case .refund(let back):
            guard let id = purchase(of: account, back, { $0.purchaseDate <= time }) else { return [] }
            command = .refund(transaction: id)
        case .reverseRefund(let back):
            guard let id = purchase(of: account, back, { $0.revocation?.kind == .refund }) else { return [] }
            command = .reverseRefund(transaction: id)
        }
        guard !isAmbiguous(command, of: account, at: time) else { return [] }
        let before = store
        guard let events = try? store.perform(command, for: account, at: time) else { return [] }
        note(events.compactMap(\.notification), before, at: time, &census)
        return try tell(events, &census)
    }

    private func purchase(
        of account: String, _ back: Int, _ condition: (StoreTransaction) -> Bool
    ) -> String? {
        store.transactions(of: account).filter { $0.ownership == .purchased && condition($0) }.dropLast(back).last?.id
    }

    private func tell(_ events: [StoreEvent], _ census: inout Census) throws -> [Observation] {
        try events.compactMap { event in
            guard let told = event.notification else { return nil }
            census.count("notified: \(told.name)")
            if facts.isSigned { census.count("delivered: signed for real") }
            return try facts.observation(
                of: StoreNotification(
                    uuid: told.uuid, type: told.type, subtype: told.subtype,
                    signedDate: route.signedDate(told.signedDate), transaction: told.transaction,
                    renewal: told.renewal, consumptionRequestReason: told.consumptionRequestReason, body: told.body,
                    owner: told.owner))
        }
    }

    /// What Get All Subscription Statuses would answer now, and Get Transaction History from where it was left.
    mutating func answers(signedAt time: Timestamp) throws -> [Observation] {
        var answers: [Observation] = []
        for transaction in LifeCatalog.accounts.flatMap(store.transactions)
        where transaction.change > lastChangeAnswered {
            answers.append(try facts.answer(.history, transaction, nil, nil, signedAt: time))
        }
        lastChangeAnswered = store.transactions.lastChange
        for (id, subscription) in store.subscriptions.sorted(by: { $0.key < $1.key }) {
            guard let newest = store.newest(of: subscription) else { continue }
            answers.append(
                try facts.answer(.status, newest, store.renewal(of: id), subscription.status, signedAt: time))
        }
        return answers
    }

    /// What even Apple's books do not decide.
    private func isAmbiguous(_ command: StoreCommand, of account: String, at time: Timestamp) -> Bool {
        let own = store.transactions(of: account)
        let isChargedAhead = own.contains { $0.purchaseDate > time && !$0.isUpgraded }
        let hasSeats = own.contains { $0.seats != nil }
        switch command {
        case .buy, .change, .changeSeats:
            // An upgrade after the next period was charged: nothing that Apple signs on its own says that this period,
            // which begins later than the upgrade, no longer counts.
            return isChargedAhead
        case .refund(let reference, _):
            // How the simulator refunds seats that were added is not how Apple does.
            let refunded = own.filter { $0.id == reference || $0.product.id == reference }
            return hasSeats && (reference == nil || refunded.contains { $0.seats != nil })
        case .reverseRefund(let reference): return hasSeats && reference == nil
        case .extend: return hasSeats
        default: return false
        }
    }

    private func note(
        _ told: [StoreNotification], _ before: Store, at time: Timestamp, _ census: inout Census
    ) {
        let refunded = told.filter { $0.type == "REFUND" && $0.subtype == nil }.compactMap(\.transaction)
        if let first = refunded.first {
            let later = before.transactions(of: first.account).filter {
                $0.originalID == first.originalID && $0.purchaseDate > first.purchaseDate
            }
            let isOlder = later.contains { $0.purchaseDate <= time }
            census.count("lived: refund of \(isOlder ? "an older" : "the current") period")
            if refunded.count > 1 { census.count("lived: refund with the next period charged early") }
            if first.isUpgraded { census.count("lived: refund of an upgraded period") }
        }
        for change in told where change.subtype == "UPGRADE" {
            guard let next = change.transaction, let level = next.product.level,
                let old = before.subscriptions[next.originalID].flatMap({ LifeCatalog.catalog.products[$0.productID] }),
                let former = old.level
            else { continue }
            census.count("lived: \(level == former ? "crossgrade" : "upgrade") at once")
        }
    }
}
