internal import HTTP
internal import JSON

/// An error of Apple's Server API: its number, whose first three digits are the status, and its sentence.
struct APIError: Error, Sendable, Hashable {
    let code: Int64
    let message: String

    var response: HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("errorCode", code)
        json.member("errorMessage", message)
        json.endObject()
        return .json(json.bytes, status: Int(code / 10_000))
    }

    static let badRequest = APIError(code: 4_000_000, message: "Bad request.")
    static let invalidTransactionID = APIError(code: 4_000_006, message: "Invalid transaction id.")
    static let invalidRevision = APIError(code: 4_000_005, message: "Invalid request revision.")
    static let startTooFarInPast = APIError(code: 4_000_012, message: "Start date is too far in the past.")
    static let startAfterEnd = APIError(code: 4_000_013, message: "Start date is after the end date.")
    static let invalidPaginationToken = APIError(code: 4_000_014, message: "Invalid pagination token.")
    static let invalidStartDate = APIError(code: 4_000_015, message: "Invalid start date.")
    static let invalidEndDate = APIError(code: 4_000_016, message: "Invalid end date.")
    static let invalidNotificationType = APIError(code: 4_000_018, message: "Invalid notification type or subtype.")
    static let multipleFilters = APIError(code: 4_000_019, message: "Multiple filters supplied.")
    static let invalidTestToken = APIError(code: 4_000_020, message: "Invalid test notification token.")
    static let invalidSort = APIError(code: 4_000_021, message: "Invalid sort.")
    static let invalidProductType = APIError(code: 4_000_022, message: "Invalid product type.")
    static let invalidOwnership = APIError(code: 4_000_026, message: "Invalid in-app ownership type.")
    static let invalidRevoked = APIError(code: 4_000_030, message: "Invalid revoked.")
    static let invalidStatus = APIError(code: 4_000_031, message: "Invalid status.")
    static let noNotificationURL = APIError(code: 4_040_007, message: "No App Store Server Notification URL found.")
    static let testNotificationNotFound = APIError(code: 4_040_008, message: "Test notification not found.")
    static let transactionNotFound = APIError(code: 4_040_010, message: "Transaction id not found.")
    static let rateLimited = APIError(code: 4_290_000, message: "Rate limit exceeded.")
    static let internalError = APIError(code: 5_000_000, message: "An unknown error occurred.")
}
