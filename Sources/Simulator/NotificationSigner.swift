package import AppStore
internal import JSON
internal import Time

/// Turns what the store says into what Apple would send: signed facts within a signed envelope.
package struct NotificationSigner: Sendable {
    package let authority: CertificateAuthority
    package let settings: StoreSettings
    let storefront: Storefront

    /// The body of the POST: `{"signedPayload": …}`, about 19 kB.
    @concurrent
    package func body(of notification: StoreNotification) async throws(SigningError) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 24 << 10)
        json.beginObject()
        json.member("signedPayload", try signedPayload(of: notification))
        json.endObject()
        return json.bytes
    }

    /// The envelope, as compact JWS.
    package func signedPayload(of notification: StoreNotification) throws(SigningError) -> String {
        let transaction = try notification.transaction.map { (one) throws(SigningError) in
            try sign(one, at: notification.signedDate)
        }
        let renewal = try notification.renewal.map { (one) throws(SigningError) in
            try sign(one, at: notification.signedDate)
        }
        var json = JSONWriter(reservingCapacity: 16 << 10)
        json.beginObject()
        json.member("notificationType", notification.type)
        if let subtype = notification.subtype { json.member("subtype", subtype) }
        json.member("notificationUUID", notification.uuid)
        switch notification.body {
        case .data:
            json.object("data") { json in
                writeApp(to: &json)
                json.member("bundleVersion", settings.bundleVersion)
                if let transaction { json.member("signedTransactionInfo", transaction) }
                if let renewal { json.member("signedRenewalInfo", renewal) }
                if let status = notification.status { json.member("status", status) }
                if let reason = notification.consumptionRequestReason {
                    json.member("consumptionRequestReason", reason)
                }
            }
        case .summary(let summary):
            json.object("summary") { json in
                writeApp(to: &json)
                summary.write(to: &json)
            }
        case .externalPurchaseToken(let token):
            json.object("externalPurchaseToken") { token.write(to: &$0, in: settings) }
        case .appData(let appTransaction):
            let signed = try sign(appTransaction, at: notification.signedDate)
            json.object("appData") { json in
                writeApp(to: &json)
                json.member("signedAppTransactionInfo", signed)
            }
        case .unclaimInfo(let originalID, let claims):
            json.object("unclaimInfo") { json in
                writeApp(to: &json)
                json.member("originalTransactionId", originalID)
                json.array("unclaimSeatIds", claims) { $0.string($1) }
            }
        case .unknown(let name):
            json.object(name) { json in
                writeApp(to: &json)
                json.member("whatever", true)
            }
        }
        json.member("version", "2.0")
        json.member("signedDate", notification.signedDate.milliseconds)
        json.endObject()
        return try authority.sign(json.bytes)
    }

    private func writeApp(to json: inout JSONWriter) {
        if settings.environment == .production { json.member("appAppleId", settings.appAppleID) }
        json.member("bundleId", settings.bundleID)
        json.member("environment", settings.environment.rawValue)
    }

    func sign(_ transaction: AppTransaction, at time: Timestamp) throws(SigningError) -> String {
        try authority.sign(transaction.payload(signedAt: time, in: settings))
    }

    func sign(_ transaction: StoreTransaction, at time: Timestamp) throws(SigningError) -> String {
        try authority.sign(transaction.payload(signedAt: time, in: settings, storefront))
    }

    func sign(_ renewal: StoreRenewal, at time: Timestamp) throws(SigningError) -> String {
        try authority.sign(renewal.payload(signedAt: time, in: settings, storefront))
    }
}
