import JSON
import TestSupport
import Testing
import Time

@testable import AppStore

/// Every member and every value that Apple documents.
@Suite struct PayloadTableTests {
    func check<Payload: SignedPayload>(_ rows: [PayloadRow<Payload>]) throws {
        for row in rows {
            let comment = "\(Payload.kind): \(row.path)"
            let read = try Payload(json: row.payload(row.json))
            TestSupport.check(row.read(read) == row.expected, "\(comment) is read as \(row.read(read) ?? "nothing")")
            TestSupport.check(read.warnings.isEmpty, "\(comment): \(read.warnings)")
            let fields = try Payload.fields(of: row.payload(row.json))
            TestSupport.check(
                fields.map(\.name) == [row.place] && fields.allSatisfy(\.isKnown), "\(comment): \(fields)")

            let null = try Payload(json: row.payload("null"))
            TestSupport.check(row.read(null) == nil && null.warnings.isEmpty, "\(comment), null")

            let damaged = try Payload(json: row.payload(row.wrong))
            TestSupport.check(row.read(damaged) == nil, "\(comment), damaged, is read as \(row.read(damaged) ?? "")")
            TestSupport.check(damaged.warnings.map(\.field) == [row.place], "\(comment), damaged: \(damaged.warnings)")
        }
    }

    @Test func everyMemberIsReadAndAWrongTypeCostsThatMemberOnly() throws {
        try check(PayloadTable.notification)
        try check(PayloadTable.transaction)
        try check(PayloadTable.renewalInfo)
        try check(PayloadTable.appTransaction)
        try check(PayloadTable.realtimeRequest)
    }

    /// The members of the object at `path` that the table has.
    func documented<Payload>(_ rows: [PayloadRow<Payload>], _ path: String = "") -> Set<String> {
        Set(
            rows.map { $0.path.replacing("[]", with: "") }.filter { $0.hasPrefix(path) }.compactMap {
                $0.dropFirst(path.count).split(separator: ".").first.map(String.init)
            })
    }

    func known<Object: PayloadObject>(_: Object.Type) -> Set<String> { Set(Object.Member.allCases.map(\.rawValue)) }

    @Test func theTableHasEveryMemberThatIsReadAndTheOtherWayRound() {
        let (notification, transaction, renewal) = (
            PayloadTable.notification, PayloadTable.transaction, PayloadTable.renewalInfo
        )
        #expect(documented(notification) == known(NotificationPayload.self))
        #expect(documented(notification, "data.") == known(NotificationData.self))
        #expect(documented(notification, "summary.") == known(NotificationSummary.self))
        #expect(documented(notification, "externalPurchaseToken.") == known(ExternalPurchaseToken.self))
        #expect(documented(notification, "appData.") == known(NotificationAppData.self))
        #expect(documented(notification, "unclaimInfo.") == known(UnclaimInfo.self))
        #expect(documented(transaction) == known(TransactionPayload.self))
        #expect(documented(transaction, "commitmentInfo.") == known(TransactionCommitmentInfo.self))
        #expect(documented(transaction, "multiSeatInfo.") == known(TransactionMultiSeatInfo.self))
        #expect(documented(transaction, "multiSeatInfo.priceTiers.") == known(PriceTier.self))
        let commerce = "advancedCommerceInfo."
        #expect(documented(transaction, commerce) == known(TransactionAdvancedCommerceInfo.self))
        #expect(documented(transaction, commerce + "descriptors.") == known(AdvancedCommerceDescriptors.self))
        #expect(documented(transaction, commerce + "items.") == known(AdvancedCommerceTransactionItem.self))
        #expect(documented(transaction, commerce + "items.offer.") == known(AdvancedCommerceOffer.self))
        #expect(documented(transaction, commerce + "items.refunds.") == known(AdvancedCommerceRefund.self))
        #expect(documented(renewal) == known(RenewalInfoPayload.self))
        #expect(documented(renewal, "commitmentInfo.") == known(RenewalCommitmentInfo.self))
        #expect(documented(renewal, "multiSeatInfo.") == known(RenewalMultiSeatInfo.self))
        #expect(documented(renewal, commerce) == known(RenewalAdvancedCommerceInfo.self))
        #expect(documented(renewal, commerce + "items.") == known(AdvancedCommerceRenewalItem.self))
        #expect(
            documented(renewal, commerce + "items.priceIncreaseInfo.") == known(AdvancedCommercePriceIncreaseInfo.self))
        #expect(documented(PayloadTable.appTransaction) == known(AppTransactionPayload.self))
        #expect(documented(PayloadTable.realtimeRequest) == known(RealtimeRequestPayload.self))
    }

    // MARK: Values

    func expect<Known: Vocabulary>(
        _: Known.Type, _ documented: [Known.RawValue], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        TestSupport.check(
            Set(Known.allCases.map(\.rawValue)) == Set(documented), "\(Known.self)", sourceLocation: sourceLocation)
        for raw in documented {
            TestSupport.check(Raw<Known>(raw: raw).known?.rawValue == raw, "\(raw)", sourceLocation: sourceLocation)
        }
    }

    func expect<Known: Vocabulary>(
        _ type: Known.Type, _ documented: String, sourceLocation: SourceLocation = #_sourceLocation
    ) where Known.RawValue == String {
        let values = documented.split(separator: ",").map { String($0.drop(while: \.isWhitespace)) }
        expect(type, values, sourceLocation: sourceLocation)
    }

    @Test func everyDocumentedValueIsKnownAndNoOther() {
        expect(
            NotificationType.self,
            """
            SUBSCRIBED, DID_CHANGE_RENEWAL_PREF, DID_CHANGE_RENEWAL_STATUS, OFFER_REDEEMED, DID_RENEW, EXPIRED, \
            DID_FAIL_TO_RENEW, GRACE_PERIOD_EXPIRED, PRICE_INCREASE, REFUND, REFUND_DECLINED, CONSUMPTION_REQUEST, \
            RENEWAL_EXTENDED, REVOKE, TEST, RENEWAL_EXTENSION, REFUND_REVERSED, EXTERNAL_PURCHASE_TOKEN, \
            ONE_TIME_CHARGE, RESCIND_CONSENT, METADATA_UPDATE, MIGRATION, PRICE_CHANGE, UNCLAIM_SEATS, MIGRATE
            """)
        expect(
            NotificationSubtype.self,
            """
            INITIAL_BUY, RESUBSCRIBE, DOWNGRADE, UPGRADE, AUTO_RENEW_ENABLED, AUTO_RENEW_DISABLED, VOLUNTARY, \
            BILLING_RETRY, PRICE_INCREASE, GRACE_PERIOD, PENDING, ACCEPTED, BILLING_RECOVERY, PRODUCT_NOT_FOR_SALE, \
            SUMMARY, FAILURE, UNREPORTED, CREATED, ACTIVE_TOKEN_REMINDER, INCREASE_QUANTITY, DECREASE_QUANTITY, SEATS
            """)
        expect(SubscriptionStatus.self, [1, 2, 3, 4, 5])
        expect(PayloadEnvironment.self, "Sandbox, Production, Xcode, LocalTesting")
        expect(OfferType.self, [1, 2, 3, 4, 5])
        expect(OfferDiscountType.self, "FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT, ONE_TIME")
        expect(InAppOwnershipType.self, "FAMILY_SHARED, PURCHASED, ASSIGNED")
        expect(PurchaseRevocationReason.self, [0, 1])
        expect(PurchaseRevocationType.self, "REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE, ASSIGNMENT_REVOKE")
        expect(TransactionReason.self, "PURCHASE, RENEWAL")
        expect(ExpirationIntent.self, [1, 2, 3, 4, 5])
        expect(AutoRenewStatus.self, [0, 1])
        expect(PriceIncreaseStatus.self, [0, 1])
        expect(PurchasePlatform.self, "iOS, macOS, tvOS, visionOS")
        expect(
            ConsumptionRequestReason.self,
            "UNINTENDED_PURCHASE, FULFILLMENT_ISSUE, UNSATISFIED_WITH_PURCHASE, LEGAL, OTHER")
        expect(
            ProductType.self, "Auto-Renewable Subscription, Non-Consumable, Consumable, Non-Renewing Subscription")
        expect(BillingPlanType.self, "BILLED_UPFRONT, MONTHLY")
        expect(InvitationManagement.self, "APPLE, DEVELOPER")
        expect(ExternalPurchaseTokenType.self, "ACQUISITION, SERVICES")
        expect(AdvancedCommercePeriod.self, "P1W, P1M, P2M, P3M, P6M, P1Y")
        expect(AdvancedCommerceOfferPeriod.self, "P3D, P1W, P2W, P1M, P2M, P3M, P6M, P9M, P1Y")
        expect(AdvancedCommerceOfferReason.self, "ACQUISITION, WIN_BACK, RETENTION")
        expect(
            AdvancedCommerceRefundReason.self,
            """
            UNINTENDED_PURCHASE, FULFILLMENT_ISSUE, UNSATISFIED_WITH_PURCHASE, LEGAL, OTHER, MODIFY_ITEMS_REFUND, \
            SIMULATE_REFUND_DECLINE
            """)
        expect(AdvancedCommerceRefundType.self, "FULL, PRORATED, CUSTOM")
        expect(AdvancedCommercePriceIncreaseStatus.self, "SCHEDULED, PENDING, ACCEPTED")
    }

    @Test("Pitfall 3: an unknown value fails nothing and keeps its raw form")
    func anUnknownValueKeepsItsRawForm() throws {
        let texts = PayloadTable.transaction.filter {
            ["type", "environment", "revocationType", "transactionReason", "billingPlanType"].contains($0.path)
        }
        #expect(texts.count == 5)
        for row in texts {
            let read = try TransactionPayload(json: row.payload(#""TOMORROW""#))
            check(row.read(read) == "TOMORROW" && read.warnings.isEmpty, row.path)
            check(try TransactionPayload.fields(of: row.payload(#""TOMORROW""#)).first?.isKnown == false, row.path)
        }
        let read = try TransactionPayload(
            json: Array(#"{"offerType":99,"revocationReason":-9223372036854775808}"#.utf8))
        #expect(read.offerType?.raw == 99)
        #expect(read.offerType?.known == nil)
        #expect(read.revocationReason?.raw == .min)
        let type = try NotificationPayload(json: Array(#"{"notificationType":"TOMORROW","subtype":""}"#.utf8))
        #expect(type.notificationType?.raw == "TOMORROW")
        #expect(type.notificationType?.known == nil)
        #expect(type.subtype?.raw == "")
        #expect(type.isOfItsKind)
    }

    func check(_ condition: Bool, _ comment: String) { TestSupport.check(condition, comment) }

    @Test("Pitfall 4: prices have 64 bits, percentages and quantities 32")
    func pricesHaveSixtyFourBits() throws {
        let beyond = "2147483648"
        let transaction = try TransactionPayload(
            json: Array(#"{"price":\#(beyond),"quantity":\#(beyond),"revocationPercentage":\#(beyond)}"#.utf8))
        #expect(transaction.price == 2_147_483_648)
        #expect(transaction.quantity == nil)
        #expect(transaction.revocationPercentage == nil)
        #expect(
            transaction.warnings.map(\.description) == [
                "quantity is not a 32-bit integer", "revocationPercentage is not a 32-bit integer",
            ])
        let renewal = try RenewalInfoPayload(json: Array(#"{"renewalPrice":\#(beyond)}"#.utf8))
        #expect(renewal.renewalPrice == 2_147_483_648)
    }

    @Test("Pitfall 26: the all-zero account token, as Unity sends it, is none; so are an empty and a malformed one")
    func theAllZeroAccountTokenIsNone() throws {
        for text in [#""00000000-0000-0000-0000-000000000000""#, #""""#, #""x""#, "null", "7"] {
            let json = Array(#"{"appAccountToken":\#(text),"productId":"p"}"#.utf8)
            let (transaction, renewal) = (try TransactionPayload(json: json), try RenewalInfoPayload(json: json))
            #expect(transaction.appAccountToken == nil)
            #expect(renewal.appAccountToken == nil)
            #expect(transaction.productID == "p")
        }
    }

    // MARK: What JSON can do

    @Test func aDamagedElementOfAListCostsThatElement() throws {
        let summary = try NotificationPayload(
            json: Array(#"{"summary":{"storefrontCountryCodes":["CAN",7,null,"USA",{}]}}"#.utf8))
        guard case .summary(let read) = summary.body else {
            Issue.record("no summary")
            return
        }
        #expect(read.storefrontCountryCodes == ["CAN", "USA"])
        #expect(
            summary.warnings.map(\.field) == [
                "summary.storefrontCountryCodes[1]", "summary.storefrontCountryCodes[4]",
            ])
        let items = try TransactionPayload(
            json: Array(
                #"{"advancedCommerceInfo":{"items":[{"SKU":"a"},7,{"SKU":1,"refunds":[{},{"refundDate":"x"}]}]}}"#.utf8)
        )
        #expect(items.advancedCommerceInfo?.items.map(\.sku) == ["a", nil])
        #expect(
            items.warnings.map(\.field) == [
                "advancedCommerceInfo.items[1]", "advancedCommerceInfo.items[2].SKU",
                "advancedCommerceInfo.items[2].refunds[1].refundDate",
            ])
    }

    @Test func anObjectOrAListOfTheWrongTypeCostsItself() throws {
        let read = try TransactionPayload(
            json: Array(
                #"{"commitmentInfo":[],"multiSeatInfo":"x","advancedCommerceInfo":{"items":{},"descriptors":1},"productId":"p"}"#
                    .utf8))
        #expect(
            read.warnings.map(\.field) == [
                "commitmentInfo", "multiSeatInfo", "advancedCommerceInfo.items", "advancedCommerceInfo.descriptors",
            ])
        #expect(read.productID == "p")
    }

    @Test(arguments: [
        (#"{"transactionId":"1","transactionId":"2"}"#, "same key twice"),
        (#"{"transactionId":"1","transaction\u0049d":"2"}"#, "same key twice"),
        (#"{"multiSeatInfo":{"revokedSeatQuantity":1,"revokedSeatQuantity":1}}"#, "same key twice"),
        (#"{"unknown":{"a":1,"a":1}}"#, "same key twice"),
        (#"{"unknown":\#(String(repeating: "[", count: 100))\#(String(repeating: "]", count: 100))}"#, "deep"),
        (#"{"price":01}"#, "number"), (#"{"price":+1}"#, ""), (#"{"price":1.}"#, "number"), (#"{"price":0x10}"#, ""),
        (#"{"productId":"\ud800"}"#, "escape"),
    ])
    func duplicateKeysDeepNestingAndBadFormsMakeNoPayload(text: String, reason: String) throws {
        let error = #expect(throws: PayloadError.self) { try TransactionPayload(json: Array(text.utf8)) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        "1e999", "-1e999", "9223372036854775808", "1e19", "123456789012345678901234567890", "0.5", "1e-5",
        // A double would take it for another number.
        "9007199254740993.0",
    ])
    func aNumberThatFitsNothingCostsItsMember(text: String) throws {
        let json = Array(
            #"{"price":\#(text),"offerType":\#(text),"quantity":\#(text),"unknown":\#(text),"productId":"p"}"#.utf8)
        let read = try TransactionPayload(json: json)
        #expect(read.warnings.map(\.field) == ["price", "offerType", "quantity"])
        #expect(read.price == nil)
        #expect(read.offerType == nil)
        #expect(read.productID == "p")
    }

    @Test func invalidUTF8InAnyMemberMakesNoPayload() {
        for member in ["productId", "unknown"] {
            for damage: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
                let json = Array("{\"\(member)\":\"".utf8) + damage + Array("\"}".utf8)
                #expect(throws: PayloadError.self) { try TransactionPayload(json: json) }
                #expect(throws: PayloadError.self) { try NotificationPayload(json: json) }
            }
        }
    }
}
