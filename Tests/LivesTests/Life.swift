import Entitlements
import Time

@testable import Simulator

/// One life: what two accounts of a family do in the store's two environments, what becomes of the product map
/// meanwhile, and when. Everything follows from it and its seed.
struct Life: Sendable {
    enum Deed: Sendable, Hashable {
        case command(StoreCommand)
        /// Of the purchase that many before the account's newest.
        case refund(back: Int)
        case reverseRefund(back: Int)
        /// The app publishes another map: the number of one of the catalog's editions.
        case publish(edition: Int)
    }

    struct Step: Sendable {
        var pause: Duration
        /// Which of the accounts.
        var account: Int
        var place: StoreEnvironment
        var deed: Deed
    }

    let seed: UInt64
    var steps: [Step]

    init(seed: UInt64, steps: [Step]) {
        self.seed = seed
        self.steps = steps
    }

    init(seed: UInt64, steps count: Int) {
        var random = StoreRandom(seed: seed)
        var steps: [Step] = []
        for _ in 0..<count { steps.append(steps.last?.sequel(&random) ?? Step.any(&random)) }
        self.init(seed: seed, steps: steps)
    }

    /// The map that counts at first.
    var firstEdition: Int { Int(seed / 7 % UInt64(LifeCatalog.editions.count)) }

    /// How the news of it travels.
    var route: Route { Route.allCases[Int(seed % UInt64(Route.allCases.count))] }

    /// Whether all of it is signed, and all signatures are verified, as between Apple and Holdfast. For the others the
    /// bytes that would be signed are decoded as they are: that this makes no difference is what the signed ones show.
    var isSigned: Bool { seed % Self.signedShare == 0 }
    /// One life in so many.
    static let signedShare: UInt64 = 50
}

extension Life.Step {
    static func any(_ random: inout StoreRandom) -> Life.Step {
        // Mostly days, now and then seconds or most of a year.
        let longest: Int64 =
            switch Int.random(in: 0..<20, using: &random) {
            case 0, 1: 60_000
            case 2: 300 * 86_400_000
            default: 20 * 86_400_000
            }
        return Life.Step(
            pause: .milliseconds(Int64.random(in: 1...longest, using: &random)),
            account: Int.random(in: 0...1, using: &random),
            place: Int.random(in: 0..<4, using: &random) == 0 ? .sandbox : .production, deed: deed(&random))
    }

    /// What people often do next, and chance alone would seldom think of; mostly nil.
    func sequel(_ random: inout StoreRandom) -> Life.Step? {
        guard Int.random(in: 0..<3, using: &random) == 0 else { return nil }
        let day: Int64 = 86_400_000
        var next = self
        var pause = 1...(3 * day)
        switch deed {
        case .refund: next.deed = .reverseRefund(back: 0)
        case .command(.raisePrice(let subscription, _)): next.deed = .command(.consent(subscription: subscription))
        case .command(.share):
            next.account = 1
            next.deed = .command(.revoke())
        case .command(.payment(fails: true, _)):
            pause = 1...(40 * day)
            next.deed = .command(.payment(fails: false))
        case .command(.cancel(let subscription)): next.deed = .command(.resume(subscription: subscription))
        case .command(.change(let subscription, _)):
            next.deed = .command(.change(subscription: subscription, to: "premium.monthly"))
        case .command(.buy("basic.monthly", _, _, _, _)): next.deed = .command(.change(to: "trial.monthly"))
        case .command(.buy):
            // When the next month is charged and has not begun.
            pause = (29 * day)...(30 * day)
            next.deed = .refund(back: 0)
        default: return nil
        }
        next.pause = .milliseconds(Int64.random(in: pause, using: &random))
        return next
    }

    private static func deed(_ random: inout StoreRandom) -> Life.Deed {
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        switch below(30) {
        case 0, 1: return .refund(back: below(5))
        case 2: return .reverseRefund(back: below(5))
        case 3: return .publish(edition: below(LifeCatalog.editions.count))
        default: break
        }
        let products = LifeCatalog.catalog.productIDs
        let product = products[below(products.count)]
        let team = "team.monthly"
        let commands: [StoreCommand] = [
            .buy(product), .buy(product), .buy(product), .buy(product), .buy("steps.monthly", offer: "back"),
            .buy(team, seats: SeatPurchase(quantity: 3, invitation: .developer)), .changeSeats(to: Int64(2 + below(5))),
            .changeSeats(subscription: team, to: Int64(2 + below(5))), .refundSeats(subscription: team, count: 1),
            .cancel(), .cancel(subscription: product), .resume(), .resume(subscription: product),
            .change(to: product), .change(to: product), .payment(fails: true, grace: true),
            .payment(fails: true, grace: true), .payment(fails: true, grace: false), .payment(fails: false),
            .payment(fails: false), .payment(fails: false), .refund(), .refund(transaction: product), .reverseRefund(),
            .requestRefund(), .declineRefund(), .share(with: LifeCatalog.accounts[1]),
            .share(subscription: "basic.monthly", with: LifeCatalog.accounts[1]), .revoke(), .raisePrice(to: 9_990),
            .raisePrice(subscription: product, to: 19_990), .consent(), .consent(subscription: product),
            .extend(days: 5),
        ]
        return .command(commands[below(commands.count)])
    }
}

extension Life: CustomStringConvertible {
    /// The life as the code of a test.
    var description: String {
        let lines = steps.map { step in
            "    .init(pause: .milliseconds(\(Int64(step.pause / .milliseconds(1)))), account: \(step.account), "
                + "place: .\(step.place), deed: .\(step.deed)),"
        }
        return "Life(seed: \(seed), steps: [\n\(lines.joined(separator: "\n"))\n])"
    }
}
