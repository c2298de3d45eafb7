import AppStore
import Entitlements
import Runtime
import TestSupport
import Testing
import Time

@testable import Simulator

/// Every endpoint once before the simulated store's sandbox, where all of them are.
@Suite(.timeLimit(.minutes(6))) struct SimulatedEndpointTests {
    @Test func theStoreAnswersEveryEndpoint() async throws {
        try await SimulatedStore.with(.sandbox) { simulator, client, verifier in
            let account = try await simulator.createAccount()
            _ = try await simulator.perform(.buy("demo.premium.monthly"), for: account)
            let truth = await simulator.truth(of: account)
            let id = try #require(truth.first?.originalTransactionID)
            let support = CallPriority.support

            let one = try await client.transaction(id, support)
            let transaction = try SimulatedStore.read(one.signedTransactionInfo, verifier)
            #expect(transaction.transactionID == id)
            #expect(try await client.appTransaction(id, support).signedAppTransactionInfo.isEmpty == false)
            #expect(try await client.statuses(id, support, only: [1]).data.count == 1)
            for version in [try client.history(id, support), try client.historyV1(id, support)] {
                var pages = version
                let page = try #require(try await pages.next()?.page)
                #expect(page.signedTransactions.count == 1)
                #expect(page.warnings.isEmpty)
            }
            var refunds = try client.refunds(id, support)
            #expect(try await refunds.next()?.page.signedTransactions.isEmpty == true)
            try await client.finish(id, support)
            try await client.setAccountToken(
                "7389A31A-FB6D-4569-A2A6-DB7D85D84813", ofOriginalTransaction: id, support)

            try await client.sendConsumption(
                ConsumptionRequest(customerConsented: true, sampleContentProvided: false, deliveryStatus: .delivered),
                of: id, support)
            // An order that nobody made is Apple's status 1, not an error.
            #expect(try await client.order("MNOTHING", support).status == 1)

            let extent = RenewalExtension(
                days: 30, reason: .serviceIssue, requestIdentifier: "FDF964A4-233B-486C-AAC1-97D8D52688AC")
            #expect(try await client.extend(id, by: extent, support).success == true)
            let mass = try await client.massExtend("demo.premium.monthly", by: extent, support)
            #expect(mass.requestIdentifier == "fdf964a4-233b-486c-aac1-97d8d52688ac")
            let status = try await client.massExtendStatus(
                "demo.premium.monthly", requestIdentifier: mass.requestIdentifier, support)
            #expect(status.complete != nil)

            let now = WallClock.system.now()
            var notifications = try client.notifications(
                NotificationHistoryFilter(from: now - .seconds(3600), to: now + .seconds(3600)), support)
            #expect(try await notifications.next() != nil)
            let token = try await client.requestTestNotification(support).testNotificationToken
            // It is told once the notification was sent.
            check(
                try await eventually {
                    _ = try await client.testNotificationStatus(token, support)
                    return true
                })
        }
    }

    @Test func seatsAreClaimedAndGivenBack() async throws {
        try await SimulatedStore.with(.sandbox) { simulator, client, _ in
            let account = try await simulator.createAccount()
            _ = try await simulator.perform(
                .buy("demo.premium.monthly", seats: SeatPurchase(quantity: 3, invitation: .developer)), for: account)
            let truth = await simulator.truth(of: account)
            let id = try #require(truth.first?.originalTransactionID)
            let request = "fdf964a4-233b-486c-aac1-97d8d52688ac"
            let claim = try await client.claimSeat(id, requestIdentifier: request, .support).seatClaimID
            #expect(try await client.claimSeat(id, requestIdentifier: request, .support).seatClaimID == claim)
            let seats = try await client.seats(id, .support)
            #expect(seats.totalSeatCount == 3)
            #expect(seats.assignedSeatClaimIDs == [claim])
            let group = try #require(try await client.groups(id, .support).groups.first?.groupID)
            var members = try client.groupMembers(group, .support)
            _ = try await members.next()
            let buyer = try await client.appTransaction(id, .support)
            #expect(buyer.warnings.isEmpty)
            try await client.releaseSeat(claim, of: id, .support)
            #expect(try await client.seats(id, .support).availableSeatCount == 3)
        }
    }
}
