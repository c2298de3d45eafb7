internal import JSON
package import Time

/// An answer, read so that unknown members and values, and optional members of a wrong type, do no harm.
///
/// Signed texts are Apple's compact JWS as they came: nothing in them is verified yet. Words of Apple's that may grow
/// (environments, results) are texts for the same reason.
package protocol ServerAPIResponse: Sendable {
    /// `missing` names a member without which the answer is useless.
    init(_ answer: ServerAPIAnswer) throws(MissingMember)
    /// Members that were there and could not be used.
    var warnings: [PayloadWarning] { get }
}

package struct MissingMember: Error, Sendable { package let name: String }

/// A page that says where the next one begins.
package protocol ServerAPIPage: ServerAPIResponse {
    /// nil when the answer does not say.
    var hasMore: Bool? { get }
    var nextToken: String? { get }
}

/// A 2xx answer: its bytes as they came, and what they say.
package struct ServerAPIAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
    /// Empty where the answer was.
    let object: JSONObject

    var fields: ResponseFields { ResponseFields(object) }
}

/// An answer that says nothing but yes.
package struct EmptyResponse: ServerAPIResponse {
    package var warnings: [PayloadWarning] { [] }
    package init(_ answer: ServerAPIAnswer) {}
}

package struct TransactionInfoResponse: ServerAPIResponse {
    package let signedTransactionInfo: String
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) throws(MissingMember) {
        var fields = answer.fields
        signedTransactionInfo = try fields.string("signedTransactionInfo").orMissing("signedTransactionInfo")
        warnings = fields.warnings
    }
}

package struct AppTransactionInfoResponse: ServerAPIResponse {
    package let signedAppTransactionInfo: String
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) throws(MissingMember) {
        var fields = answer.fields
        signedAppTransactionInfo = try fields.string("signedAppTransactionInfo").orMissing("signedAppTransactionInfo")
        warnings = fields.warnings
    }
}

package struct StatusResponse: ServerAPIResponse {
    package struct Group: Sendable {
        package let subscriptionGroupIdentifier: String?
        package let lastTransactions: [Item]
    }

    package struct Item: Sendable {
        /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
        package let status: Int64?
        package let originalTransactionID: String?
        package let signedTransactionInfo: String?
        package let signedRenewalInfo: String?
    }

    package let environment: String?
    package let bundleID: String?
    package let appAppleID: Int64?
    package let data: [Group]
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        environment = fields.string("environment")
        bundleID = fields.string("bundleId")
        appAppleID = fields.integer("appAppleId")
        data = fields.objects("data") { fields in
            Group(
                subscriptionGroupIdentifier: fields.string("subscriptionGroupIdentifier"),
                lastTransactions: fields.objects("lastTransactions") { fields in
                    Item(
                        status: fields.integer("status"), originalTransactionID: fields.string("originalTransactionId"),
                        signedTransactionInfo: fields.string("signedTransactionInfo"),
                        signedRenewalInfo: fields.string("signedRenewalInfo"))
                })
        }
        warnings = fields.warnings
    }
}

/// A page of Get Transaction History, of either version.
package struct HistoryResponse: ServerAPIPage {
    package let revision: String?
    package let hasMore: Bool?
    package let environment: String?
    package let bundleID: String?
    package let appAppleID: Int64?
    package let signedTransactions: [String]
    package let warnings: [PayloadWarning]
    package var nextToken: String? { revision }

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        revision = fields.string("revision")
        hasMore = fields.bool("hasMore")
        environment = fields.string("environment")
        bundleID = fields.string("bundleId")
        appAppleID = fields.integer("appAppleId")
        signedTransactions = fields.strings("signedTransactions")
        warnings = fields.warnings
    }
}

package struct RefundHistoryResponse: ServerAPIPage {
    package let revision: String?
    package let hasMore: Bool?
    package let signedTransactions: [String]
    package let warnings: [PayloadWarning]
    package var nextToken: String? { revision }

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        revision = fields.string("revision")
        hasMore = fields.bool("hasMore")
        signedTransactions = fields.strings("signedTransactions")
        warnings = fields.warnings
    }
}

package struct OrderLookupResponse: ServerAPIResponse {
    /// 0 valid, 1 invalid.
    package let status: Int64?
    package let signedTransactions: [String]
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        status = fields.integer("status")
        signedTransactions = fields.strings("signedTransactions")
        warnings = fields.warnings
    }
}

package struct ExtendResponse: ServerAPIResponse {
    package let originalTransactionID: String?
    package let webOrderLineItemID: String?
    package let success: Bool?
    package let effectiveDate: Timestamp?
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        originalTransactionID = fields.string("originalTransactionId")
        webOrderLineItemID = fields.string("webOrderLineItemId")
        success = fields.bool("success")
        effectiveDate = fields.date("effectiveDate")
        warnings = fields.warnings
    }
}

package struct MassExtendResponse: ServerAPIResponse {
    package let requestIdentifier: String
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) throws(MissingMember) {
        var fields = answer.fields
        requestIdentifier = try fields.string("requestIdentifier").orMissing("requestIdentifier")
        warnings = fields.warnings
    }
}

package struct MassExtendStatusResponse: ServerAPIResponse {
    package let requestIdentifier: String?
    package let complete: Bool?
    package let completeDate: Timestamp?
    package let succeededCount: Int64?
    package let failedCount: Int64?
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        requestIdentifier = fields.string("requestIdentifier")
        complete = fields.bool("complete")
        completeDate = fields.date("completeDate")
        succeededCount = fields.integer("succeededCount")
        failedCount = fields.integer("failedCount")
        warnings = fields.warnings
    }
}

extension Optional {
    func orMissing(_ name: String) throws(MissingMember) -> Wrapped {
        guard let self else { throw MissingMember(name: name) }
        return self
    }
}
