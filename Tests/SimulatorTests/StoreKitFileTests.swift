import Glibc
import Testing

@testable import Simulator

@Suite struct StoreKitFileTests {
    /// The demonstration's own file, found from this one's place.
    private static func demonstration() throws -> [UInt8] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(root)/ops/demo.storekit", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    @Test func theDemonstrationsFileIsRead() throws {
        let catalog = try StoreKitFile.parse(Self.demonstration())
        #expect(catalog.productIDs.count == 6)
        #expect(catalog.hasGracePeriod)
        let yearly = try #require(catalog.products["demo.premium.yearly"])
        #expect(yearly.level == 1)
        #expect(yearly.period == Period("P1Y"))
        #expect(yearly.price == 99_990)
        #expect(yearly.isFamilyShareable)
        #expect(catalog.products["demo.basic.yearly"]?.introductoryOffer?.mode == .freeTrial)
        #expect(catalog.products["demo.lifetime"]?.kind == .nonConsumable)
    }

    @Test func versionFivesListsOfOffersAreRead() throws {
        let text = """
            {"version":{"major":5,"minor":0},"products":[],"nonRenewingSubscriptions":[
            {"productID":"season","displayPrice":"1","type":"NonRenewingSubscription"}],
            "subscriptionGroups":[{"id":"G","subscriptions":[{"productID":"m","displayPrice":"4,99","groupNumber":3,
            "recurringSubscriptionPeriod":"P1M","introductoryOffers":[{"paymentMode":"payAsYouGo","displayPrice":"0.5",
            "numberOfPeriods":2,"subscriptionPeriod":"P1M"}],"winbackOffers":[{"offerID":"w","paymentMode":"free",
            "subscriptionPeriod":"P2W"}]}]}]}
            """
        let catalog = try StoreKitFile.parse(Array(text.utf8))
        let product = try #require(catalog.products["m"])
        #expect(product.price == 4990)
        #expect(product.introductoryOffer?.count == 2)
        #expect(product.introductoryOffer?.price == 500)
        #expect(product.offers.last?.type == .winBack)
        #expect(catalog.products["season"]?.kind == .nonRenewing)
    }

    @Test(arguments: [
        ("{", ""), ("{}", ""), (#"{"version":{"major":9}}"#, "version.major"),
        (#"{"products":[{"type":"Thing"}]}"#, "products[0].type"),
        (#"{"products":[{"type":"Consumable","displayPrice":"1"}]}"#, "products[0].productID"),
        (#"{"products":[{"type":"Consumable","productID":"a","displayPrice":"x"}]}"#, "products[0].displayPrice"),
        (#"{"products":[{"type":"Consumable","productID":"a","displayPrice":"-1"}]}"#, "products[0].displayPrice"),
        (
            #"{"subscriptionGroups":[{"id":"G","subscriptions":[{"productID":"a","displayPrice":"1"}]}]}"#,
            "subscriptionGroups[0].subscriptions[0].recurringSubscriptionPeriod"
        ),
    ])
    func aProblemIsNamedByItsPlace(_ text: String, _ field: String) throws {
        let problem = #expect(throws: StoreKitFile.Problem.self) { try StoreKitFile.parse(Array(text.utf8)) }
        #expect(problem?.field == field)
    }
}
