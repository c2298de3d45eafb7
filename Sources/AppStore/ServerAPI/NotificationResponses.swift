package import Time

package struct TestNotificationResponse: ServerAPIResponse {
    package let testNotificationToken: String
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) throws(MissingMember) {
        var fields = answer.fields
        testNotificationToken = try fields.string("testNotificationToken").orMissing("testNotificationToken")
        warnings = fields.warnings
    }
}

/// One of Apple's tries to deliver a notification.
package struct SendAttempt: Sendable, Hashable {
    package let attemptDate: Timestamp?
    /// `SUCCESS`, `TIMED_OUT`, `TLS_ISSUE`…: Apple's word.
    package let sendAttemptResult: String?

    init(_ fields: inout ResponseFields) {
        attemptDate = fields.date("attemptDate")
        sendAttemptResult = fields.string("sendAttemptResult")
    }
}

package struct TestNotificationStatusResponse: ServerAPIResponse {
    package let signedPayload: String?
    package let sendAttempts: [SendAttempt]
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        signedPayload = fields.string("signedPayload")
        sendAttempts = fields.objects("sendAttempts") { SendAttempt(&$0) }
        warnings = fields.warnings
    }
}

package struct NotificationHistoryResponse: ServerAPIPage {
    package struct Item: Sendable {
        package let signedPayload: String?
        package let sendAttempts: [SendAttempt]
    }

    package let paginationToken: String?
    package let hasMore: Bool?
    package let notificationHistory: [Item]
    package let warnings: [PayloadWarning]
    package var nextToken: String? { paginationToken }

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        paginationToken = fields.string("paginationToken")
        hasMore = fields.bool("hasMore")
        notificationHistory = fields.objects("notificationHistory") { fields in
            Item(
                signedPayload: fields.string("signedPayload"),
                sendAttempts: fields.objects("sendAttempts") { SendAttempt(&$0) })
        }
        warnings = fields.warnings
    }
}
