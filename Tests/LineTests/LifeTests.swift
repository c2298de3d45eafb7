import JSON
import Simulator
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(6))) struct LifeTests {
    /// What a read says about a customer, in the words that the store's truth uses.
    struct Reading: Equatable {
        var state: String?
        var access: Bool
        var productID: String?
        var willRenew: Bool
    }

    private func reading(_ line: Line, _ customer: String) async throws -> Reading {
        let subscription = try await line.read(customer)["subscriptions"]?.array?.first
        return Reading(
            state: subscription?["state"]?.string, access: subscription?["access"]?.bool ?? false,
            productID: subscription?["productId"]?.string, willRenew: subscription?["willRenew"]?.bool ?? false)
    }

    private func truth(_ line: Line, _ customer: String) async -> Reading {
        guard let truth = await line.simulator.truth(of: customer).first else {
            return Reading(access: false, willRenew: false)
        }
        // Once it is over, what would have been renewed is nobody's question.
        let isOver = truth.state == .expired || truth.state == .revoked
        return Reading(
            state: truth.state.rawValue, access: truth.access, productID: truth.productID,
            willRenew: !isOver && truth.willRenew)
    }

    @Test func readsFollowTheStoreThroughAWholeLife() async throws {
        // A month lasts 6 seconds.
        try await Line.with(speed: 30 * 86_400 / 6) { line in
            let customer = try await line.simulator.createAccount()
            let nobody = try await line.read(customer)
            #expect(nobody["entitlements"]?.array == [] && nobody["subscriptions"]?.array == [])

            func follow(_ what: String, until state: StoreTruth.State) async throws {
                let agrees = try await eventually {
                    let truth = await truth(line, customer)
                    let reading = try await reading(line, customer)
                    return truth.state == state.rawValue && reading == truth
                }
                let (said, truly) = (try await reading(line, customer), await truth(line, customer))
                #expect(agrees, "\(what): the read says \(said), the store \(truly)")
            }
            let monthly = "demo.premium.monthly"
            _ = try await line.simulator.perform(.buy(monthly), for: customer)
            try await follow("bought", until: .active)
            let firstEnd = try await line.read(customer)["subscriptions"]?.array?.first?["expiresAt"]?.string
            let renewed = try await eventually {
                let end = try await line.read(customer)["subscriptions"]?.array?.first?["expiresAt"]?.string
                return end != nil && end != firstEnd
            }
            #expect(renewed)
            try await follow("renewed", until: .active)
            _ = try await line.simulator.perform(.cancel(), for: customer)
            try await follow("canceled", until: .canceled)
            try await follow("expired", until: .expired)
            _ = try await line.simulator.perform(.buy("demo.basic.monthly"), for: customer)
            try await follow("bought again", until: .active)
            _ = try await line.simulator.perform(.change(to: monthly), for: customer)
            try await follow("upgraded", until: .active)
            #expect(try await line.hasPremium(customer))
            _ = try await line.simulator.perform(.payment(fails: true, grace: true), for: customer)
            try await follow("in grace", until: .gracePeriod)
            _ = try await line.simulator.perform(.payment(fails: false), for: customer)
            try await follow("recovered", until: .active)
            _ = try await line.simulator.perform(.refund(), for: customer)
            try await follow("refunded", until: .revoked)
            #expect(try await !line.hasPremium(customer))

            let why = try await line.explain(customer, "--entitlement", "premium")
            #expect(why.status == 1)
            #expect(why.output.hasPrefix("Does not have premium since "))
            #expect(why.output.contains("Apple refunded the current period."))
            let id = try #require(
                try await line.read(customer)["subscriptions"]?.array?.first?["originalTransactionId"]?.string)
            let whose = try await line.explain("--transaction", id, "--json")
            #expect(whose.status == 1)
            let json = try JSONValue.parse(Array(whose.output.utf8))
            #expect(json["customer"]?.string == customer)
            #expect(json["lineages"]?.array?.first?["reason"]?.string == "refunded")
            let unknown = try await line.explain("--transaction", "1")
            #expect(unknown.status == 1)
            #expect(unknown.output == "1 is not known here: no notification about it has arrived.\n")
        }
    }
}
