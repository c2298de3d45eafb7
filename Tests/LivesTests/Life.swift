import Time

@testable import Simulator

/// One life: what two accounts of a family do in the store, and when. Everything follows from it and its seed.
struct Life: Sendable {
    struct Step: Sendable {
        var pause: Duration
        /// Which of the accounts.
        var account: Int
        var command: StoreCommand
    }

    let seed: UInt64
    var steps: [Step]

    init(seed: UInt64, steps count: Int) {
        var random = StoreRandom(seed: seed)
        self.seed = seed
        steps = (0..<count).map { _ in Step.any(&random) }
    }
}

extension Life.Step {
    static func any(_ random: inout StoreRandom) -> Life.Step {
        // Mostly days, now and then seconds or most of a year.
        let longest: Int64 =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: 60_000
            case 1: 300 * 86_400_000
            default: 20 * 86_400_000
            }
        return Life.Step(
            pause: .milliseconds(Int64.random(in: 1...longest, using: &random)),
            account: Int.random(in: 0...1, using: &random), command: command(&random))
    }

    private static func command(_ random: inout StoreRandom) -> StoreCommand {
        let products = LifeCatalog.catalog.productIDs
        let product = products[Int.random(in: 0..<products.count, using: &random)]
        let commands: [StoreCommand] = [
            .buy(product), .buy(product), .buy(product), .buy("steps.monthly", offer: "back"), .cancel(), .resume(),
            .change(to: product), .change(to: product), .payment(fails: true, grace: true),
            .payment(fails: true, grace: true), .payment(fails: true, grace: false), .payment(fails: false),
            .payment(fails: false), .payment(fails: false), .refund(), .refund(transaction: product), .reverseRefund(),
            .requestRefund(), .declineRefund(), .share(with: LifeCatalog.accounts[1]),
            .share(with: LifeCatalog.accounts[1]), .revoke(), .raisePrice(to: 9_990), .consent(), .consent(),
            .extend(days: 5),
        ]
        return commands[Int.random(in: 0..<commands.count, using: &random)]
    }
}

extension Life: CustomStringConvertible {
    /// The life as the code of a test.
    var description: String {
        let lines = steps.map { step in
            "    .init(pause: .milliseconds(\(step.pause / .milliseconds(1))), account: \(step.account), "
                + "command: .\(step.command)),"
        }
        return "seed \(seed), steps: [\n\(lines.joined(separator: "\n"))\n]"
    }
}
