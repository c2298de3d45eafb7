import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// Groups and seats, which the sandbox has and production has not.
@Suite(.timeLimit(.minutes(6))) struct SeatTests {
    private let sandbox = StoreSettings(environment: .sandbox)
    private let seats = SeatPurchase(quantity: 2, invitation: .developer)

    private func claim(_ playground: Playground, _ id: String, _ request: Int, of customer: String? = nil) async throws
        -> Playground.Answer
    {
        let uuid = "00000000-0000-4000-8000-00000000000\(request)"
        let more = customer.map { #","appTransactionId":"\#($0)""# } ?? ""
        return try await playground.api(
            .post, "v1/transactions/\(id)/seats", #"{"requestIdentifier":"\#(uuid)"\#(more)}"#, root: "groups")
    }

    private func info(_ playground: Playground, _ id: String) async throws -> (Int64?, Int64?, [String?]?) {
        let answer = try await playground.api(.get, "v1/transactions/\(id)/seats", root: "groups").json
        return (
            answer?["totalSeatCount"]?.int64, answer?["availableSeatCount"]?.int64,
            answer?["assignedSeatClaimIds"]?.array?.map(\.string)
        )
    }

    @Test func aSeatIsClaimedOnceForOneRequest() async throws {
        try await Playground.with(sandbox) { playground in
            let id = try await playground.purchase(seats: seats).transaction.id
            #expect(try await info(playground, id) == (2, 2, []))
            let first = try await claim(playground, id, 1).json?["seatClaimId"]?.string
            #expect(first != nil)
            #expect(try await claim(playground, id, 1).json?["seatClaimId"]?.string == first)
            let second = try #require(try await claim(playground, id, 2).json?["seatClaimId"]?.string)
            #expect(try await info(playground, id) == (2, 0, [first, second]))
            let third = try await claim(playground, id, 3)
            #expect(third.status == 403)
            #expect(third.json?["errorCode"]?.int64 == APIError.noAvailableSeats.code)

            let path = "v1/transactions/\(id)/seats/\(second)"
            let gone = try await playground.api(.delete, path, root: "groups")
            #expect(gone.status == 200)
            #expect(gone.json == nil)
            try await playground.expect(4_049_901, .delete, path, root: "groups")
            #expect(try await info(playground, id) == (2, 1, [first]))
            #expect(try await claim(playground, id, 3).status == 200)
        }
    }

    @Test func aSeatIsAssociatedWithACustomer() async throws {
        try await Playground.with(sandbox) { playground in
            let bought = try await playground.purchase(seats: seats).transaction
            let member = try await playground.purchase("coins").transaction
            let seat = try #require(try await claim(playground, bought.id, 1).json?["seatClaimId"]?.string)
            let path = "v1/transactions/\(bought.id)/seats/\(seat)/associate"
            try await playground.expect(4_049_902, .post, path, #"{"appTransactionId":"1"}"#, root: "groups")
            try await playground.expect(
                4_049_901, .post, "v1/transactions/\(bought.id)/seats/none/associate",
                #"{"appTransactionId":"\#(member.appTransactionID)"}"#, root: "groups")
            try await playground.expect(
                nil, .post, path, #"{"appTransactionId":"\#(member.appTransactionID)"}"#, root: "groups")

            let groups = try await playground.api(.get, "v1/currentGroups/\(member.id)", root: "groups")
            let group = try #require(groups.json?["groups"]?.array?.first)
            #expect(group["groupType"]?.string == "CONSUMER")
            let groupID = try #require(group["groupId"]?.string)
            let page = try await playground.api(.get, "v1/group/\(groupID)?limit=1", root: "groups")
            #expect(page.json?["hasMore"]?.bool == true)
            let token = try #require(page.json?["paginationToken"]?.string)
            let rest = try await playground.api(
                .get, "v1/group/\(groupID)?limit=1&paginationToken=\(token)", root: "groups")
            #expect(rest.json?["hasMore"]?.bool == false)
            let members = [page, rest].compactMap { $0.json?["members"]?.array?.first?["appTransactionId"]?.string }
            #expect(members == [bought.appTransactionID, member.appTransactionID])
            for (path, code) in [
                ("\(groupID)?limit=0", 4_000_004), ("\(groupID)?limit=101", 4_000_004),
                ("\(groupID)?limit=x", 4_000_004), ("\(groupID)?paginationToken=x", 4_000_014),
                ("abc", 4_000_225), ("123", 4_040_022),
            ] {
                try await playground.expect(code, .get, "v1/group/\(path)", root: "groups")
            }
        }
    }

    @Test func whoIsInNoGroupGetsThePlaceholder() async throws {
        try await Playground.with(sandbox) { playground in
            let id = try await playground.purchase("coins").transaction.id
            let groups = try await playground.api(.get, "v1/currentGroups/\(id)", root: "groups")
            let group = try #require(groups.json?["groups"]?.array?.first)
            #expect(group["groupId"]?.string == "900000000000000000")
            #expect(group["groupType"]?.string == "ORGANIZATION")
            let roles = group["roles"]?.array?.map { $0["role"]?.string }
            #expect(roles == ["ADMIN", "NONE"])
            let members = try await playground.api(.get, "v1/group/900000000000000000", root: "groups")
            #expect(members.json?["members"]?.array?.first?["appTransactionId"]?.string == "700000000000000000")
            try await playground.expect(4_040_010, .get, "v1/currentGroups/1", root: "groups")
            try await playground.expect(4_000_006, .get, "v1/currentGroups/x", root: "groups")
        }
    }

    @Test func aSubscriptionWithoutSeatsOrABadRequestIsRefused() async throws {
        try await Playground.with(sandbox) { playground in
            let plain = try await playground.purchase().transaction.id
            try await playground.expect(4_000_000, .get, "v1/transactions/\(plain)/seats", root: "groups")
            let apple = try await playground.purchase(seats: SeatPurchase(quantity: 2, invitation: .apple)).transaction
            try await playground.expect(4_000_000, .get, "v1/transactions/\(apple.id)/seats", root: "groups")
            let id = try await playground.purchase(seats: seats).transaction.id
            let path = "v1/transactions/\(id)/seats"
            try await playground.expect(4_000_011, .post, path, #"{"requestIdentifier":"x"}"#, root: "groups")
            try await playground.expect(4_000_011, .post, path, "{}", root: "groups")
            try await playground.expect(4_000_000, .post, path, "", root: "groups")
            #expect(try await claim(playground, id, 1, of: "1").json?["errorCode"]?.int64 == 4_049_902)
            try await playground.expect(4_040_010, .get, "v1/transactions/1/seats", root: "groups")
            try await playground.expect(4_000_006, .get, "v1/transactions/x/seats", root: "groups")
        }
    }

    @Test func productionHasNoGroups() async throws {
        try await Playground.with { playground in
            let id = try await playground.purchase(seats: seats).transaction.id
            for path in ["v1/currentGroups/\(id)", "v1/group/900000000000000000", "v1/transactions/\(id)/seats"] {
                let answer = try await playground.api(.get, path, root: "groups")
                #expect(answer.status == 404)
                #expect(answer.json == nil)
            }
        }
    }

    @Test func seatsAreSignedAndChange() async throws {
        try await Playground.with(sandbox) { playground in
            let (account, bought) = try await playground.purchase(seats: SeatPurchase(quantity: 5, invitation: .apple))
            _ = await playground.deliveries(1)
            var payload = try playground.transactionOfLastNotification()
            #expect(payload["quantity"]?.int64 == 5)
            #expect(payload["invitationManagement"]?.string == "APPLE")
            #expect(payload["multiSeatInfo"]?["priceTiers"]?.array?.first?["quantity"]?.int64 == 5)

            try await playground.simulator.perform(.changeSeats(to: 3), for: account)
            _ = await playground.deliveries(2)
            #expect(try playground.lastNotification()["subtype"]?.string == "DECREASE_QUANTITY")
            let data = try #require(try playground.lastNotification()["data"]?["signedRenewalInfo"]?.string)
            let renewal = try Playground.unchecked(data)
            #expect(renewal["renewalQuantity"]?.int64 == 3)
            #expect(renewal["multiSeatInfo"]?["renewalPriceTiers"]?.array?.first?["quantity"]?.int64 == 3)

            try await playground.simulator.perform(.refundSeats(count: 2), for: account)
            _ = await playground.deliveries(3)
            #expect(try playground.lastNotification()["notificationType"]?.string == "REFUND")
            #expect(try playground.lastNotification()["subtype"]?.string == "SEATS")
            payload = try playground.transactionOfLastNotification()
            #expect(payload["transactionId"]?.string == bought.id)
            #expect(payload["multiSeatInfo"]?["revokedSeatQuantity"]?.int64 == 2)
            #expect(payload["revocationDate"] == nil)
            #expect(await playground.simulator.truth(of: account).first?.access == true)

            try await playground.simulator.perform(.changeSeats(to: 7), for: account)
            _ = await playground.deliveries(4)
            #expect(try playground.lastNotification()["subtype"]?.string == "INCREASE_QUANTITY")
            payload = try playground.transactionOfLastNotification()
            #expect(payload["quantity"]?.int64 == 4, "three are left of the first purchase")
            #expect(payload["originalTransactionId"]?.string == bought.id)
        }
    }

    @Test func appleEndsClaims() async throws {
        try await Playground.with(sandbox) { playground in
            let (account, bought) = try await playground.purchase(seats: seats)
            let seat = try #require(try await claim(playground, bought.id, 1).json?["seatClaimId"]?.string)
            _ = await playground.deliveries(1)
            try await playground.simulator.perform(.unclaimSeats(), for: account)
            _ = await playground.deliveries(2)
            let notification = try playground.lastNotification()
            #expect(notification["notificationType"]?.string == "UNCLAIM_SEATS")
            #expect(notification["unclaimInfo"]?["unclaimSeatIds"]?.array?.map(\.string) == [seat])
            #expect(notification["unclaimInfo"]?["environment"]?.string == "Sandbox")
            #expect(notification["data"] == nil)
            #expect(try await info(playground, bought.id) == (2, 2, []))
        }
    }
}
