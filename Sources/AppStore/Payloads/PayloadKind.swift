internal import JSON

/// The kinds of payload that Apple signs.
package enum PayloadKind: String, Sendable, CaseIterable {
    case notification, transaction, renewalInfo, appTransaction, realtimeRequest

    var part: VerificationFailure.Part {
        switch self {
        case .notification: .notification
        case .transaction: .transaction
        case .renewalInfo: .renewalInfo
        case .appTransaction: .appTransaction
        case .realtimeRequest: .realtimeRequest
        }
    }

    /// What a payload of this kind is read into.
    var payloadType: any SignedPayload.Type {
        switch self {
        case .notification: NotificationPayload.self
        case .transaction: TransactionPayload.self
        case .renewalInfo: RenewalInfoPayload.self
        case .appTransaction: AppTransactionPayload.self
        case .realtimeRequest: RealtimeRequestPayload.self
        }
    }

    /// The kind in a sentence, with its article.
    package var phrase: String {
        switch self {
        case .notification: "a notification"
        case .transaction: "a transaction"
        case .renewalInfo: "renewal information"
        case .appTransaction: "an app transaction"
        case .realtimeRequest: "a realtime retention request"
        }
    }

    /// Tells the kind of a payload by the members that only this kind has; nil when none fits.
    package init?(ofJSON bytes: [UInt8]) {
        var keys: Set<String> = []
        var reader = JSONReader(bytes)
        do {
            try reader.readObject { (reader, key) throws(JSONError) in
                keys.insert(key.description)
                try reader.skip()
            }
            try reader.finish()
        } catch { return nil }
        if keys.contains("notificationType") || keys.contains("notificationUUID") {
            self = .notification
        } else if keys.contains("receiptType") || keys.contains("receiptCreationDate") {
            self = .appTransaction
        } else if keys.contains("userLocale") && keys.contains("requestIdentifier") {
            self = .realtimeRequest
        } else if keys.contains("transactionId") {
            self = .transaction
        } else if keys.contains("autoRenewStatus") || keys.contains("autoRenewProductId") {
            self = .renewalInfo
        } else {
            return nil
        }
    }
}
