import JSON
import Time

@testable import AppStore

/// One member of a payload, and what it is read as.
struct PayloadRow<Payload: SignedPayload>: Sendable {
    /// Such as `advancedCommerceInfo.items[].price`.
    let path: String
    /// A value of the member in JSON.
    let json: String
    let expected: String
    /// What was read, as text; nil when nothing was.
    let read: @Sendable (Payload) -> String?
    /// A value of the wrong type: an object is one for everything but objects.
    let wrong: String

    init(
        _ path: String, _ json: String, _ expected: String, wrong: String = #"{"x":1}"#,
        _ read: @escaping @Sendable (Payload) -> String?
    ) {
        self.path = path
        self.json = json
        self.expected = expected
        self.read = read
        self.wrong = wrong
    }

    /// A payload of this one member, with `value` in its place.
    func payload(_ value: String) -> [UInt8] {
        var text = value
        for name in path.split(separator: ".").reversed() {
            let key = name.replacing("[]", with: "")
            text = name.hasSuffix("[]") ? "{\"\(key)\":[\(text)]}" : "{\"\(key)\":\(text)}"
        }
        return Array(text.utf8)
    }

    /// The member's name in warnings about that payload.
    var place: String { path.replacing("[]", with: "[0]") }
}

extension Optional {
    /// As a text to compare; enumerations raw, dates in milliseconds.
    var shown: String? { map { ($0 as? Timestamp).map { "\($0.milliseconds)" } ?? "\($0)" } }
}

extension [String] {
    var shown: String? { isEmpty ? nil : joined(separator: ",") }
}

private let token = #""7E3FB20B-4CDB-47CC-936D-99D65F608138""#
private let lower = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

/// Every member that Apple documents, object by object, as read from its documents; tests hold this table against what
/// the code knows, both ways.
enum PayloadTable {
    static let notification: [PayloadRow<NotificationPayload>] = [
        .init("notificationType", #""DID_RENEW""#, "DID_RENEW") { $0.notificationType.shown },
        .init("subtype", #""BILLING_RECOVERY""#, "BILLING_RECOVERY") { $0.subtype.shown },
        .init("notificationUUID", #""u-1""#, "u-1") { $0.notificationUUID },
        .init("version", #""2.0""#, "2.0") { $0.version },
        .init("signedDate", "1698148900000", "1698148900000") { $0.signedDate.shown },
        .init("environment", #""Sandbox""#, "Sandbox") { $0.origin.environment.shown },
        .init("appAppleId", "41234", "41234") { $0.origin.appAppleID.shown },
        .init("bundleId", #""b""#, "b") { $0.origin.bundleID },

        .init("data.environment", #""Sandbox""#, "Sandbox") { $0.origin.environment.shown },
        .init("data.appAppleId", "9223372036854775807", "9223372036854775807") { $0.origin.appAppleID.shown },
        .init("data.bundleId", #""b""#, "b") { $0.origin.bundleID },
        .init("data.bundleVersion", #""1.2.3""#, "1.2.3") { $0.data?.bundleVersion },
        .init("data.signedTransactionInfo", #""a.b.c""#, "a.b.c") { $0.data?.signedTransactionInfo },
        .init("data.signedRenewalInfo", #""a.b.c""#, "a.b.c") { $0.data?.signedRenewalInfo },
        .init("data.status", "4", "4") { ($0.data?.status).shown },
        .init("data.consumptionRequestReason", #""LEGAL""#, "LEGAL") { ($0.data?.consumptionRequestReason).shown },

        .init("summary.environment", #""Production""#, "Production") { $0.origin.environment.shown },
        .init("summary.appAppleId", "41234", "41234") { $0.origin.appAppleID.shown },
        .init("summary.bundleId", #""b""#, "b") { $0.origin.bundleID },
        .init("summary.productId", #""p""#, "p") { $0.summary?.productID },
        .init("summary.requestIdentifier", #""r""#, "r") { $0.summary?.requestIdentifier },
        .init("summary.storefrontCountryCodes[]", #""CAN""#, "CAN") { $0.summary?.storefrontCountryCodes.shown },
        .init("summary.succeededCount", "5000000000", "5000000000") { ($0.summary?.succeededCount).shown },
        .init("summary.failedCount", "2", "2") { ($0.summary?.failedCount).shown },

        .init("externalPurchaseToken.environment", #""Sandbox""#, "Sandbox") { $0.origin.environment.shown },
        .init("externalPurchaseToken.appAppleId", "5", "5") { $0.origin.appAppleID.shown },
        .init("externalPurchaseToken.bundleId", #""b""#, "b") { $0.origin.bundleID },
        .init("externalPurchaseToken.externalPurchaseId", #""SANDBOX_1""#, "SANDBOX_1") {
            $0.token?.externalPurchaseID
        },
        .init("externalPurchaseToken.tokenCreationDate", "1698148950000", "1698148950000") {
            ($0.token?.tokenCreationDate).shown
        },
        .init("externalPurchaseToken.tokenExpirationDate", "1698148950001", "1698148950001") {
            ($0.token?.tokenExpirationDate).shown
        },
        .init("externalPurchaseToken.tokenType", #""SERVICES""#, "SERVICES") { ($0.token?.tokenType).shown },

        .init("appData.environment", #""Sandbox""#, "Sandbox") { $0.origin.environment.shown },
        .init("appData.appAppleId", "5", "5") { $0.origin.appAppleID.shown },
        .init("appData.bundleId", #""b""#, "b") { $0.origin.bundleID },
        .init("appData.signedAppTransactionInfo", #""a.b.c""#, "a.b.c") { $0.appData?.signedAppTransactionInfo },

        .init("unclaimInfo.environment", #""Sandbox""#, "Sandbox") { $0.origin.environment.shown },
        .init("unclaimInfo.appAppleId", "5", "5") { $0.origin.appAppleID.shown },
        .init("unclaimInfo.bundleId", #""b""#, "b") { $0.origin.bundleID },
        .init("unclaimInfo.unclaimSeatIds[]", token, lower) { $0.unclaimInfo?.unclaimSeatIDs.shown },
    ]

    static let transaction: [PayloadRow<TransactionPayload>] = [
        .init("originalTransactionId", #""12345""#, "12345") { $0.originalTransactionID },
        .init("transactionId", #""23456""#, "23456") { $0.transactionID },
        .init("webOrderLineItemId", #""34343""#, "34343") { $0.webOrderLineItemID },
        .init("bundleId", #""b""#, "b") { $0.bundleID },
        .init("productId", #""p""#, "p") { $0.productID },
        .init("subscriptionGroupIdentifier", #""55555""#, "55555") { $0.subscriptionGroupID },
        .init("purchaseDate", "1698148900000", "1698148900000") { $0.purchaseDate.shown },
        .init("originalPurchaseDate", "1698148800000", "1698148800000") { $0.originalPurchaseDate.shown },
        .init("expiresDate", "1698149000000", "1698149000000") { $0.expiresDate.shown },
        .init("quantity", "3", "3") { $0.quantity.shown },
        .init("type", #""Consumable""#, "Consumable") { $0.type.shown },
        .init("appAccountToken", token, lower) { $0.appAccountToken },
        .init("inAppOwnershipType", #""ASSIGNED""#, "ASSIGNED") { $0.inAppOwnershipType.shown },
        .init("signedDate", "1698148900000", "1698148900000") { $0.signedDate.shown },
        .init("revocationReason", "0", "0") { $0.revocationReason.shown },
        .init("revocationDate", "1698148950000", "1698148950000") { $0.revocationDate.shown },
        .init("isUpgraded", "true", "true") { $0.isUpgraded.shown },
        .init("offerType", "5", "5") { $0.offerType.shown },
        .init("offerIdentifier", #""abc.123""#, "abc.123") { $0.offerIdentifier },
        .init("environment", #""Production""#, "Production") { $0.environment.shown },
        .init("storefront", #""USA""#, "USA") { $0.storefront },
        .init("storefrontId", #""143441""#, "143441") { $0.storefrontID },
        .init("transactionReason", #""RENEWAL""#, "RENEWAL") { $0.transactionReason.shown },
        .init("currency", #""USD""#, "USD") { $0.currency },
        .init("price", "9223372036854775807", "9223372036854775807") { $0.price.shown },
        .init("offerDiscountType", #""ONE_TIME""#, "ONE_TIME") { $0.offerDiscountType.shown },
        .init("appTransactionId", #""71134""#, "71134") { $0.appTransactionID },
        .init("offerPeriod", #""P1Y""#, "P1Y") { $0.offerPeriod },
        .init("revocationType", #""ASSIGNMENT_REVOKE""#, "ASSIGNMENT_REVOKE") { $0.revocationType.shown },
        .init("revocationPercentage", "50000", "50000") { $0.revocationPercentage.shown },
        .init("billingPlanType", #""MONTHLY""#, "MONTHLY") { $0.billingPlanType.shown },
        .init("previousOriginalTransactionId", #""1""#, "1") { $0.previousOriginalTransactionID },
        .init("invitationManagement", #""DEVELOPER""#, "DEVELOPER") { $0.invitationManagement.shown },
        .init("additionalTransactionReason", #""X""#, "X") { $0.additionalTransactionReason },
        .init("revokedSeatQuantity", "2", "2") { $0.revokedSeatQuantity.shown },
        .init("bundleProductId", #""p""#, "p") { $0.bundle.productID },
        .init("bundleTransactionId", #""1""#, "1") { $0.bundle.transactionID },
        .init("bundleOriginalTransactionId", #""1""#, "1") { $0.bundle.originalTransactionID },
        .init("bundleSubscriptionGroupId", #""1""#, "1") { $0.bundle.subscriptionGroupID },
        .init("willUnbundle", "false", "false") { $0.bundle.willUnbundle.shown },

        .init("commitmentInfo.billingPeriodNumber", "3", "3") { ($0.commitmentInfo?.billingPeriodNumber).shown },
        .init("commitmentInfo.totalBillingPeriods", "12", "12") { ($0.commitmentInfo?.totalBillingPeriods).shown },
        .init("commitmentInfo.commitmentExpiresDate", "1698150000000", "1698150000000") {
            ($0.commitmentInfo?.expiresDate).shown
        },
        .init("commitmentInfo.commitmentPrice", "119880", "119880") { ($0.commitmentInfo?.price).shown },

        .init("multiSeatInfo.priceTiers[].price", "3000000000", "3000000000") {
            ($0.multiSeatInfo?.priceTiers.first?.price).shown
        },
        .init("multiSeatInfo.priceTiers[].quantity", "7", "7") { ($0.multiSeatInfo?.priceTiers.first?.quantity).shown },
        .init("multiSeatInfo.revokedSeatQuantity", "2", "2") { $0.revokedSeatQuantity.shown },

        .init("advancedCommerceInfo.descriptors.description", #""d""#, "d") {
            $0.advancedCommerceInfo?.descriptors?.description
        },
        .init("advancedCommerceInfo.descriptors.displayName", #""n""#, "n") {
            $0.advancedCommerceInfo?.descriptors?.displayName
        },
        .init("advancedCommerceInfo.estimatedTax", "1500", "1500") { ($0.advancedCommerceInfo?.estimatedTax).shown },
        .init("advancedCommerceInfo.period", #""P6M""#, "P6M") { ($0.advancedCommerceInfo?.period).shown },
        .init("advancedCommerceInfo.requestReferenceId", #""r""#, "r") { $0.advancedCommerceInfo?.requestReferenceID },
        .init("advancedCommerceInfo.taxCode", #""t""#, "t") { $0.advancedCommerceInfo?.taxCode },
        .init("advancedCommerceInfo.taxExclusivePrice", "8490", "8490") {
            ($0.advancedCommerceInfo?.taxExclusivePrice).shown
        },
        .init("advancedCommerceInfo.taxRate", #""0.15""#, "0.15") { $0.advancedCommerceInfo?.taxRate },
        .init("advancedCommerceInfo.items[].SKU", #""s""#, "s") { $0.item?.sku },
        .init("advancedCommerceInfo.items[].description", #""d""#, "d") { $0.item?.description },
        .init("advancedCommerceInfo.items[].displayName", #""n""#, "n") { $0.item?.displayName },
        .init("advancedCommerceInfo.items[].price", "9990", "9990") { ($0.item?.price).shown },
        .init("advancedCommerceInfo.items[].revocationDate", "1698149200000", "1698149200000") {
            ($0.item?.revocationDate).shown
        },
        .init("advancedCommerceInfo.items[].offer.period", #""P9M""#, "P9M") { ($0.item?.offer?.period).shown },
        .init("advancedCommerceInfo.items[].offer.periodCount", "2", "2") { ($0.item?.offer?.periodCount).shown },
        .init("advancedCommerceInfo.items[].offer.price", "1", "1") { ($0.item?.offer?.price).shown },
        .init("advancedCommerceInfo.items[].offer.reason", #""WIN_BACK""#, "WIN_BACK") {
            ($0.item?.offer?.reason).shown
        },
        .init("advancedCommerceInfo.items[].refunds[].refundAmount", "5000", "5000") {
            ($0.item?.refunds.first?.amount).shown
        },
        .init("advancedCommerceInfo.items[].refunds[].refundDate", "1698149100000", "1698149100000") {
            ($0.item?.refunds.first?.date).shown
        },
        .init("advancedCommerceInfo.items[].refunds[].refundReason", #""LEGAL""#, "LEGAL") {
            ($0.item?.refunds.first?.reason).shown
        },
        .init("advancedCommerceInfo.items[].refunds[].refundType", #""PRORATED""#, "PRORATED") {
            ($0.item?.refunds.first?.type).shown
        },
    ]

    static let renewalInfo: [PayloadRow<RenewalInfoPayload>] = [
        .init("expirationIntent", "3", "3") { $0.expirationIntent.shown },
        .init("originalTransactionId", #""12345""#, "12345") { $0.originalTransactionID },
        .init("autoRenewProductId", #""p""#, "p") { $0.autoRenewProductID },
        .init("productId", #""p""#, "p") { $0.productID },
        .init("autoRenewStatus", "0", "0") { $0.autoRenewStatus.shown },
        .init("isInBillingRetryPeriod", "true", "true") { $0.isInBillingRetryPeriod.shown },
        .init("priceIncreaseStatus", "1", "1") { $0.priceIncreaseStatus.shown },
        .init("gracePeriodExpiresDate", "1698148900000", "1698148900000") { $0.gracePeriodExpiresDate.shown },
        .init("offerType", "2", "2") { $0.offerType.shown },
        .init("offerIdentifier", #""abc.123""#, "abc.123") { $0.offerIdentifier },
        .init("signedDate", "1698148800000", "1698148800000") { $0.signedDate.shown },
        .init("environment", #""Sandbox""#, "Sandbox") { $0.environment.shown },
        .init("recentSubscriptionStartDate", "1", "1") { $0.recentSubscriptionStartDate.shown },
        .init("renewalDate", "2", "2") { $0.renewalDate.shown },
        .init("currency", #""USD""#, "USD") { $0.currency },
        .init("renewalPrice", "2147483648", "2147483648") { $0.renewalPrice.shown },
        .init("offerDiscountType", #""FREE_TRIAL""#, "FREE_TRIAL") { $0.offerDiscountType.shown },
        .init("eligibleWinBackOfferIds[]", #""e""#, "e") { $0.eligibleWinBackOfferIDs.shown },
        .init("appAccountToken", token, lower) { $0.appAccountToken },
        .init("appTransactionId", #""71134""#, "71134") { $0.appTransactionID },
        .init("offerPeriod", #""P1Y""#, "P1Y") { $0.offerPeriod },
        .init("renewalBillingPlanType", #""BILLED_UPFRONT""#, "BILLED_UPFRONT") { $0.renewalBillingPlanType.shown },
        .init("renewalQuantity", "12", "12") { $0.renewalQuantity.shown },
        .init("bundleProductId", #""p""#, "p") { $0.bundle.productID },
        .init("bundleTransactionId", #""1""#, "1") { $0.bundle.transactionID },
        .init("bundleOriginalTransactionId", #""1""#, "1") { $0.bundle.originalTransactionID },
        .init("bundleSubscriptionGroupId", #""1""#, "1") { $0.bundle.subscriptionGroupID },
        .init("willUnbundle", "true", "true") { $0.bundle.willUnbundle.shown },

        .init("commitmentInfo.commitmentAutoRenewProductId", #""p""#, "p") { $0.commitmentInfo?.autoRenewProductID },
        .init("commitmentInfo.commitmentAutoRenewStatus", "1", "1") { ($0.commitmentInfo?.autoRenewStatus).shown },
        .init("commitmentInfo.commitmentRenewalBillingPlanType", #""MONTHLY""#, "MONTHLY") {
            ($0.commitmentInfo?.renewalBillingPlanType).shown
        },
        .init("commitmentInfo.commitmentRenewalDate", "1698149500000", "1698149500000") {
            ($0.commitmentInfo?.renewalDate).shown
        },
        .init("commitmentInfo.commitmentRenewalPrice", "9990", "9990") { ($0.commitmentInfo?.renewalPrice).shown },

        .init("multiSeatInfo.renewalPriceTiers[].price", "1", "1") {
            ($0.multiSeatInfo?.renewalPriceTiers.first?.price).shown
        },
        .init("multiSeatInfo.renewalPriceTiers[].quantity", "1", "1") {
            ($0.multiSeatInfo?.renewalPriceTiers.first?.quantity).shown
        },

        .init("advancedCommerceInfo.consistencyToken", #""t""#, "t") { $0.advancedCommerceInfo?.consistencyToken },
        .init("advancedCommerceInfo.descriptors.description", #""d""#, "d") {
            $0.advancedCommerceInfo?.descriptors?.description
        },
        .init("advancedCommerceInfo.descriptors.displayName", #""n""#, "n") {
            $0.advancedCommerceInfo?.descriptors?.displayName
        },
        .init("advancedCommerceInfo.period", #""P1W""#, "P1W") { ($0.advancedCommerceInfo?.period).shown },
        .init("advancedCommerceInfo.requestReferenceId", #""r""#, "r") { $0.advancedCommerceInfo?.requestReferenceID },
        .init("advancedCommerceInfo.taxCode", #""t""#, "t") { $0.advancedCommerceInfo?.taxCode },
        .init("advancedCommerceInfo.items[].SKU", #""s""#, "s") { $0.item?.sku },
        .init("advancedCommerceInfo.items[].description", #""d""#, "d") { $0.item?.description },
        .init("advancedCommerceInfo.items[].displayName", #""n""#, "n") { $0.item?.displayName },
        .init("advancedCommerceInfo.items[].price", "9990", "9990") { ($0.item?.price).shown },
        .init("advancedCommerceInfo.items[].offer.period", #""P3D""#, "P3D") { ($0.item?.offer?.period).shown },
        .init("advancedCommerceInfo.items[].offer.periodCount", "2", "2") { ($0.item?.offer?.periodCount).shown },
        .init("advancedCommerceInfo.items[].offer.price", "1", "1") { ($0.item?.offer?.price).shown },
        .init("advancedCommerceInfo.items[].offer.reason", #""RETENTION""#, "RETENTION") {
            ($0.item?.offer?.reason).shown
        },
        .init("advancedCommerceInfo.items[].priceIncreaseInfo.dependentSKUs[]", #""s""#, "s") {
            $0.item?.priceIncreaseInfo?.dependentSKUs.shown
        },
        .init("advancedCommerceInfo.items[].priceIncreaseInfo.price", "12990", "12990") {
            ($0.item?.priceIncreaseInfo?.price).shown
        },
        .init("advancedCommerceInfo.items[].priceIncreaseInfo.status", #""SCHEDULED""#, "SCHEDULED") {
            ($0.item?.priceIncreaseInfo?.status).shown
        },
    ]

    static let appTransaction: [PayloadRow<AppTransactionPayload>] = [
        .init("receiptType", #""Production""#, "Production") { $0.receiptType.shown },
        .init("appAppleId", "531412", "531412") { $0.appAppleID.shown },
        .init("bundleId", #""b""#, "b") { $0.bundleID },
        .init("applicationVersion", #""1.2.3""#, "1.2.3") { $0.applicationVersion },
        .init("versionExternalIdentifier", "512", "512") { $0.versionExternalIdentifier.shown },
        .init("receiptCreationDate", "1698148900000", "1698148900000") { $0.receiptCreationDate.shown },
        .init("originalPurchaseDate", "1698148800000", "1698148800000") { $0.originalPurchaseDate.shown },
        .init("originalApplicationVersion", #""1.1.2""#, "1.1.2") { $0.originalApplicationVersion },
        .init("deviceVerification", #""d""#, "d") { $0.deviceVerification },
        .init("deviceVerificationNonce", token, lower) { $0.deviceVerificationNonce },
        .init("preorderDate", "1698148700000", "1698148700000") { $0.preorderDate.shown },
        .init("appTransactionId", #""71134""#, "71134") { $0.appTransactionID },
        .init("originalPlatform", #""visionOS""#, "visionOS") { $0.originalPlatform.shown },
        .init("requestDate", "1698148700000.5", "1698148700000") { $0.requestDate.shown },
    ]

    static let realtimeRequest: [PayloadRow<RealtimeRequestPayload>] = [
        .init("originalTransactionId", #""99371282""#, "99371282") { $0.originalTransactionID },
        .init("appAppleId", "531412", "531412") { $0.appAppleID.shown },
        .init("productId", #""p""#, "p") { $0.productID },
        .init("userLocale", #""en-US""#, "en-US") { $0.userLocale },
        .init("requestIdentifier", token, lower) { $0.requestIdentifier },
        .init("environment", #""Sandbox""#, "Sandbox") { $0.environment.shown },
        .init("signedDate", "1698148900000", "1698148900000") { $0.signedDate.shown },
    ]
}

extension NotificationPayload {
    fileprivate var data: NotificationData? { if case .data(let it) = body { it } else { nil } }
    fileprivate var summary: NotificationSummary? { if case .summary(let it) = body { it } else { nil } }
    fileprivate var token: ExternalPurchaseToken? { if case .externalPurchaseToken(let it) = body { it } else { nil } }
    fileprivate var appData: NotificationAppData? { if case .appData(let it) = body { it } else { nil } }
    fileprivate var unclaimInfo: UnclaimInfo? { if case .unclaimInfo(let it) = body { it } else { nil } }
}

extension TransactionPayload {
    fileprivate var item: AdvancedCommerceTransactionItem? { advancedCommerceInfo?.items.first }
}

extension RenewalInfoPayload {
    fileprivate var item: AdvancedCommerceRenewalItem? { advancedCommerceInfo?.items.first }
}
