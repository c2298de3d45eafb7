import AppStore
import Entitlements
import Testing
import Time

@testable import Simulator

/// Whatever an account does, who folds all that was signed about it arrives at the store's own truth.
@Suite struct RandomLivesTests {
    private struct Life {
        var store: Store
        var random: StoreRandom
        var now = Demo.start
        var waiting: [StoreNotification] = []
        var records: [String: LineageRecord] = [:]
        let accounts: [String]
        let signer: NotificationSigner
        let verifier: NotificationVerifier

        init(seed: UInt64, authority: CertificateAuthority) throws {
            store = Demo.store(StoreSettings(seed: seed))
            random = StoreRandom(seed: seed)
            accounts = [Demo.account, try store.createAccount(at: Demo.start).token]
            signer = NotificationSigner(
                authority: authority, settings: store.settings, storefront: Storefront(code: "USA"))
            verifier = NotificationVerifier(JWSVerifier(roots: try TrustedRoots(der: [authority.rootDER])))
        }

        mutating func step() async throws {
            now = now + .milliseconds(Int64.random(in: 1...1_700_000_000, using: &random))
            var events = store.advance(to: now)
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                let account = accounts[Int.random(in: 0...1, using: &random)]
                let command = command()
                guard !isAmbiguous(command, for: account) else { continue }
                // What the store refuses is part of life.
                events += (try? store.perform(command, for: account, at: now)) ?? []
            }
            waiting += events.notifications
            // They arrive in any order, and some only later.
            waiting.shuffle(using: &random)
            let late = waiting.count / 4
            for notification in waiting.dropLast(late) { try await fold(notification) }
            waiting = waiting.suffix(late)
        }

        mutating func settle() async throws {
            for notification in waiting { try await fold(notification) }
            waiting = []
        }

        private mutating func fold(_ notification: StoreNotification) async throws {
            let verified = try verifier.verify(
                try await signer.body(of: notification),
                for: AppIdentity(bundleID: store.settings.bundleID, appAppleID: store.settings.appAppleID), now: now)
            guard let observation = verified.observation(app: AppID("demo")) else { return }
            let id = observation.lineage.originalTransactionID
            _ = records[id, default: LineageRecord(lineage: observation.lineage)].fold(observation)
        }

        /// An upgrade after the next period was charged: nothing that Apple signs on its own says that this period, which
        /// begins later than the upgrade, no longer counts.
        private func isAmbiguous(_ command: StoreCommand, for account: String) -> Bool {
            switch command {
            case .buy, .change: store.transactions(of: account).contains { $0.purchaseDate > now && !$0.isUpgraded }
            default: false
            }
        }

        private mutating func command() -> StoreCommand {
            let products = Demo.catalog.productIDs
            let product = products[Int.random(in: 0..<products.count, using: &random)]
            let commands: [StoreCommand] = [
                .buy(product), .buy(product), .buy(product), .cancel(), .resume(), .change(to: product),
                .payment(fails: true, grace: true), .payment(fails: true, grace: true),
                .payment(fails: true, grace: false), .payment(fails: false), .payment(fails: false), .refund(),
                .reverseRefund(), .requestRefund(), .declineRefund(),
                .share(with: accounts[1]), .revoke(), .raisePrice(to: 9_990), .consent(), .extend(days: 5),
            ]
            return commands[Int.random(in: 0..<commands.count, using: &random)]
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func theFoldOfAllNotificationsIsTheStoresTruth(_ seed: UInt64) async throws {
        var life = try Life(seed: seed, authority: CertificateAuthority(makingAt: Demo.start))
        for number in 0..<40 {
            try await life.step()
            guard number % 5 == 4 else { continue }
            try await life.settle()
            // Just after what was signed in one and the same millisecond.
            let instant = life.now + .milliseconds(100)
            #expect(life.store.advance(to: instant).isEmpty)
            for truth in life.store.truth(at: instant) where truth.type != "Consumable" {
                let record = try #require(life.records[truth.originalTransactionID])
                let evaluation = record.evaluated(at: instant, map: ProductMap())
                #expect(evaluation.state.rawValue == truth.state.rawValue, "\(number): \(truth) \(evaluation)")
                #expect(evaluation.access == truth.access, "\(number): \(truth)")
                #expect(evaluation.productID == truth.productID, "\(number): \(truth)")
                if truth.access, truth.type == "Auto-Renewable Subscription" {
                    #expect(evaluation.willRenew == truth.willRenew, "\(number): \(truth)")
                    #expect(evaluation.nextProductID == truth.nextProductID, "\(number): \(truth)")
                }
            }
        }
    }
}
