internal import HTTP
internal import JSON

/// An error of Apple's Server API: its number, whose first three digits are the status, and its sentence.
///
/// Numbers and sentences are Apple's. Of a few errors the documentation at hand gives the name only: their numbers end
/// in 99xx here and stand in for Apple's, which nobody should match on.
struct APIError: Error, Sendable, Hashable {
    let code: Int64
    let message: String

    init(_ code: Int64, _ message: String) {
        self.code = code
        self.message = message
    }

    /// By its number alone, as the control API names it.
    init(code: Int64) { self = Self.all.first { $0.code == code } ?? APIError(code, "An unknown error occurred.") }

    static let codes: ClosedRange<Int> = 4_000_000...5_999_999

    var response: HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("errorCode", code)
        json.member("errorMessage", message)
        json.endObject()
        return .json(json.bytes, status: Int(code / 10_000))
    }

    // MARK: 400

    static let badRequest = APIError(4_000_000, "Bad request.")
    static let invalidAppIdentifier = APIError(4_000_002, "Invalid request app identifier.")
    static let invalidLimit = APIError(4_000_004, "Invalid request limit.")
    static let invalidRevision = APIError(4_000_005, "Invalid request revision.")
    static let invalidTransactionID = APIError(4_000_006, "Invalid transaction id.")
    static let invalidOriginalTransactionID = APIError(4_000_008, "Invalid original transaction id.")
    static let invalidExtendByDays = APIError(4_000_009, "Invalid extend by days value.")
    static let invalidExtendReasonCode = APIError(4_000_010, "Invalid extend reason code.")
    static let invalidRequestIdentifier = APIError(4_000_011, "Invalid request identifier.")
    static let startTooFarInPast = APIError(
        4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
    static let startAfterEnd = APIError(
        4_000_013, "Invalid request. The end date precedes the start date or the dates are the same.")
    static let invalidPaginationToken = APIError(4_000_014, "Invalid request. The pagination token is invalid.")
    static let invalidStartDate = APIError(
        4_000_015, "Invalid request. The start date is not a timestamp value represented in milliseconds.")
    static let invalidEndDate = APIError(
        4_000_016, "Invalid request. The end date is not a timestamp value represented in milliseconds.")
    static let paginationTokenExpired = APIError(4_000_017, "Invalid request. The pagination token is expired.")
    static let invalidNotificationType = APIError(
        4_000_018, "Invalid request. The notification type or subtype is invalid.")
    static let multipleFilters = APIError(
        4_000_019, "Invalid request. Supply either a transaction id or a notification type, but not both.")
    static let invalidTestToken = APIError(4_000_020, "Invalid request. The test notification token is invalid.")
    static let invalidSort = APIError(4_000_021, "Invalid request. The sort parameter is invalid.")
    static let invalidProductType = APIError(4_000_022, "Invalid request. The product type parameter is invalid.")
    static let invalidProductID = APIError(4_000_023, "Invalid request. The product id parameter is invalid.")
    static let invalidGroup = APIError(
        4_000_024, "Invalid request. The subscription group identifier parameter is invalid.")
    static let invalidExcludeRevoked = APIError(
        4_000_025, "Invalid request. The exclude revoked parameter is invalid.")
    static let invalidOwnership = APIError(
        4_000_026, "Invalid request. The in-app ownership type parameter is invalid.")
    static let emptyStorefronts = APIError(
        4_000_027, "Invalid request. If provided, the list of storefront country codes must not be empty.")
    static let invalidStorefront = APIError(4_000_028, "Invalid request. A storefront country code was invalid.")
    static let invalidRevoked = APIError(4_000_030, "Invalid request. The revoked parameter is invalid.")
    static let invalidStatus = APIError(4_000_031, "Invalid request. The status parameter is invalid.")
    static let invalidAccountTenure = APIError(4_000_032, "Invalid request. The account tenure field is invalid.")
    static let invalidAppAccountToken = APIError(
        4_000_033,
        "Invalid request. The app account token field must contain a valid UUID or an empty string.")
    static let invalidConsumptionStatus = APIError(
        4_000_034, "Invalid request. The consumption status field is invalid.")
    static let invalidCustomerConsented = APIError(
        4_000_035,
        "Invalid request. The customer consented field is required and must indicate the customer consented.")
    static let invalidDeliveryStatus = APIError(4_000_036, "Invalid request. The delivery status field is invalid.")
    static let invalidDollarsPurchased = APIError(
        4_000_037, "Invalid request. The lifetime dollars purchased field is invalid.")
    static let invalidDollarsRefunded = APIError(
        4_000_038, "Invalid request. The lifetime dollars refunded field is invalid.")
    static let invalidPlatform = APIError(4_000_039, "Invalid request. The platform field is invalid.")
    static let invalidPlayTime = APIError(4_000_040, "Invalid request. The playtime field is invalid.")
    static let invalidSampleContent = APIError(
        4_000_041, "Invalid request. The sample content provided field is invalid.")
    static let invalidUserStatus = APIError(4_000_042, "Invalid request. The user status field is invalid.")
    static let invalidRefundPreference = APIError(
        4_000_044, "Invalid request. The refund preference field is invalid.")
    static let unsupportedType = APIError(
        4_000_047, "Invalid request. The transaction id doesn't represent a supported in-app purchase type.")
    static let appTransactionNotSupported = APIError(
        4_000_048, "Invalid request. App transactions aren't supported by this endpoint.")
    static let invalidAccountTokenUUID = APIError(
        4_000_183, "Invalid request. The app account token field must be a valid UUID.")
    static let familyNotSupported = APIError(
        4_000_185, "Invalid request. Family Sharing transactions aren't supported by this endpoint.")
    static let notOriginal = APIError(
        4_000_187, "Invalid request. The transaction ID provided is not an original transaction ID.")
    static let percentageOfSubscription = APIError(
        4_000_209,
        "Invalid request. The consumption percentage field is not supported for auto-renewable subscription "
            + "transactions.")
    static let invalidGroupID = APIError(4_000_225, "Invalid request. The group ID is invalid.")
    static let assignedNotSupported = APIError(
        4_000_227, "Invalid request. Assigned transactions aren't supported by this endpoint.")
    /// A stand-in for Apple's number.
    static let percentageOutOfRange = APIError(
        4_009_901, "Invalid request. The consumption percentage is outside the valid range.")
    /// A stand-in for Apple's number.
    static let percentageOfUndelivered = APIError(
        4_009_902, "Invalid request. The consumption percentage must be zero for the provided delivery status.")

    // MARK: 403, 404

    static let extensionIneligible = APIError(
        4_030_004, "Forbidden - subscription state ineligible for extension.")
    static let maximumExtension = APIError(
        4_030_005, "Forbidden - subscription has reached maximum extension count.")
    static let familyExtensionIneligible = APIError(
        4_030_007,
        "Subscriptions that users obtain through Family Sharing can't get a renewal date extension directly.")
    static let assignedExtensionIneligible = APIError(
        4_030_028, "Assigned subscriptions can't get a renewal date extension.")
    /// A stand-in for Apple's number.
    static let noAvailableSeats = APIError(4_039_901, "The subscription has no seats available to claim.")

    static let accountNotFound = APIError(4_040_001, "Account not found.")
    static let accountNotFoundRetryable = APIError(4_040_002, "Account not found. Please try again.")
    static let appNotFound = APIError(4_040_003, "App not found.")
    static let appNotFoundRetryable = APIError(4_040_004, "App not found. Please try again.")
    static let originalTransactionNotFound = APIError(4_040_005, "Original transaction id not found.")
    static let originalTransactionNotFoundRetryable = APIError(
        4_040_006, "Original transaction id not found. Please try again.")
    static let noNotificationURL = APIError(
        4_040_007,
        "No App Store Server Notification URL found for provided app. Check that a URL is configured in App Store "
            + "Connect for this environment.")
    static let testNotificationNotFound = APIError(
        4_040_008,
        "Either the test notification token is expired or the notification and status are not yet available.")
    static let statusRequestNotFound = APIError(
        4_040_009,
        "The server didn't find a subscription-renewal-date extension request for this requestIdentifier and "
            + "productId combination.")
    static let transactionNotFound = APIError(4_040_010, "Transaction id not found.")
    static let noAppTransaction = APIError(4_040_019, "No AppTransaction exists for the customer.")
    static let groupNotFound = APIError(4_040_022, "Group not found.")
    /// A stand-in for Apple's number.
    static let seatClaimNotFound = APIError(4_049_901, "Seat claim id not found.")
    /// A stand-in for Apple's number.
    static let appTransactionNotFound = APIError(4_049_902, "App transaction id not found.")

    // MARK: 429, 500

    static let rateLimited = APIError(4_290_000, "Rate limit exceeded.")
    static let internalError = APIError(5_000_000, "An unknown error occurred.")
    static let internalErrorRetryable = APIError(5_000_001, "An unknown error occurred. Please try again.")

    /// What `failCode` may name and is known by a sentence of Apple's.
    static let all = [
        badRequest, invalidAppIdentifier, invalidLimit, invalidRevision, invalidTransactionID,
        invalidOriginalTransactionID, invalidExtendByDays, invalidExtendReasonCode, invalidRequestIdentifier,
        startTooFarInPast, startAfterEnd, invalidPaginationToken, invalidStartDate, invalidEndDate,
        paginationTokenExpired, invalidNotificationType, multipleFilters, invalidTestToken, invalidSort,
        invalidProductType, invalidProductID, invalidGroup, invalidExcludeRevoked, invalidOwnership, emptyStorefronts,
        invalidStorefront, invalidRevoked, invalidStatus, invalidAccountTenure, invalidAppAccountToken,
        invalidConsumptionStatus, invalidCustomerConsented, invalidDeliveryStatus, invalidDollarsPurchased,
        invalidDollarsRefunded, invalidPlatform, invalidPlayTime, invalidSampleContent, invalidUserStatus,
        invalidRefundPreference, unsupportedType, appTransactionNotSupported, invalidAccountTokenUUID,
        familyNotSupported, notOriginal, percentageOfSubscription, invalidGroupID, assignedNotSupported,
        percentageOutOfRange, percentageOfUndelivered, extensionIneligible, maximumExtension,
        familyExtensionIneligible, assignedExtensionIneligible, noAvailableSeats, accountNotFound,
        accountNotFoundRetryable, appNotFound, appNotFoundRetryable, originalTransactionNotFound,
        originalTransactionNotFoundRetryable, noNotificationURL, testNotificationNotFound, statusRequestNotFound,
        transactionNotFound, noAppTransaction, groupNotFound, seatClaimNotFound, appTransactionNotFound, rateLimited,
        internalError, internalErrorRetryable,
    ]
}
