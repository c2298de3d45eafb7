import HTTP
import JSON
import Testing
import Time

@testable import Simulator

/// Notifications that are about no subscription of this store, or of types of their own.
@Suite(.timeLimit(.minutes(6))) struct NotificationShapeTests {
    @Test func consentIsRescindedWithAnAppTransaction() async throws {
        try await Playground.with { playground in
            let (account, bought) = try await playground.purchase("coins")
            // Two are sent side by side; which came last must not be chance.
            _ = await playground.deliveries(1)
            _ = try await playground.control(.post, "accounts/\(account)/rescind-consent", "{}")
            _ = await playground.deliveries(2)
            let notification = try playground.lastNotification()
            #expect(notification["notificationType"]?.string == "RESCIND_CONSENT")
            #expect(notification["data"] == nil)
            #expect(notification["appData"]?["appAppleId"]?.int64 == 1_234_567_890)
            #expect(notification["appData"]?["bundleId"]?.string == "com.example.demo")
            let signed = try #require(notification["appData"]?["signedAppTransactionInfo"]?.string)
            #expect(try Playground.unchecked(signed)["appTransactionId"]?.string == bought.appTransactionID)
        }
    }

    @Test(arguments: [StoreSettings.Environment.production, .sandbox])
    func anExternalPurchaseTokenSaysItsEnvironmentByItsId(_ environment: StoreSettings.Environment) async throws {
        try await Playground.with(StoreSettings(environment: environment)) { playground in
            let sent = try await playground.control(
                .post, "external-purchase-token", #"{"subtype":"CREATED","tokenType":"SERVICES"}"#)
            #expect(sent.status == 201)
            _ = await playground.deliveries(1)
            let notification = try playground.lastNotification()
            #expect(notification["notificationType"]?.string == "EXTERNAL_PURCHASE_TOKEN")
            #expect(notification["subtype"]?.string == "CREATED")
            let token = try #require(notification["externalPurchaseToken"])
            #expect(token["externalPurchaseId"]?.string?.hasPrefix("SANDBOX") == (environment == .sandbox))
            #expect(token["tokenType"]?.string == "SERVICES")
            #expect(token["tokenExpirationDate"]?.int64 != nil)
            #expect(token["bundleId"]?.string == "com.example.demo")
            #expect(notification["data"] == nil)
            for (body, field) in [(#"{"subtype":"X"}"#, "subtype"), (#"{"tokenType":"X"}"#, "tokenType")] {
                let refused = try await playground.control(.post, "external-purchase-token", body)
                #expect(refused.json?["field"]?.string == field)
            }
        }
    }

    @Test(arguments: ["PRICE_CHANGE", "METADATA_UPDATE", "MIGRATION", "TOMORROWS_TYPE"])
    func anyTypeIsSentAboutATransaction(_ type: String) async throws {
        try await Playground.with { playground in
            let (account, bought) = try await playground.purchase()
            // Two are sent side by side; which came last must not be chance.
            _ = await playground.deliveries(1)
            let sent = try await playground.control(
                .post, "accounts/\(account)/notify", #"{"type":"\#(type)","subtype":"SOME_SUBTYPE"}"#)
            #expect(sent.status == 200)
            _ = await playground.deliveries(2)
            let notification = try playground.lastNotification()
            #expect(notification["notificationType"]?.string == type)
            #expect(notification["subtype"]?.string == "SOME_SUBTYPE")
            #expect(try playground.transactionOfLastNotification()["transactionId"]?.string == bought.id)
        }
    }

    @Test func anObjectOfTomorrowStandsInPlaceOfData() async throws {
        try await Playground.with { playground in
            let (account, _) = try await playground.purchase("coins")
            // Two are sent side by side; which came last must not be chance.
            _ = await playground.deliveries(1)
            _ = try await playground.control(
                .post, "accounts/\(account)/notify", #"{"type":"TOMORROWS_TYPE","object":"tomorrowInfo"}"#)
            _ = await playground.deliveries(2)
            let notification = try playground.lastNotification()
            #expect(notification["tomorrowInfo"]?["bundleId"]?.string == "com.example.demo")
            #expect(notification["data"] == nil)
            for (body, field) in [
                (#"{"type":"no"}"#, "type"), (#"{"type":"A","subtype":"b"}"#, "subtype"),
                (#"{"type":"A","object":"data"}"#, "object"), (#"{"type":"A","object":"a b"}"#, "object"),
                (#"{"type":"A","transactionId":"1"}"#, "transactionId"),
            ] {
                let refused = try await playground.control(.post, "accounts/\(account)/notify", body)
                #expect(refused.json?["field"]?.string == field)
            }
        }
    }

    @Test func theUsualOnesAreThereToo() async throws {
        try await Playground.with { playground in
            let (account, _) = try await playground.purchase("coins")
            // Two are sent side by side; which came last must not be chance.
            _ = await playground.deliveries(1)
            try await playground.simulator.perform(.requestRefund(reason: "LEGAL"), for: account)
            _ = await playground.deliveries(2)
            #expect(try playground.lastNotification()["data"]?["consumptionRequestReason"]?.string == "LEGAL")
            _ = try await playground.purchase(by: account)
            try await playground.simulator.perform(.raisePrice(to: 10_990), for: account)
            let names = await playground.simulator.events().map(\.name)
            #expect(names.contains("ONE_TIME_CHARGE"))
            #expect(names.contains("CONSUMPTION_REQUEST"))
            #expect(names.contains("PRICE_INCREASE/PENDING"))
        }
    }
}
