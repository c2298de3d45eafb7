package import Entitlements
package import Time

/// Verifies App Store Server Notifications V2: the envelope at the door, everything before it is applied.
package struct NotificationVerifier: Sendable {
    package let verifier: JWSVerifier

    package init(_ verifier: JWSVerifier) { self.verifier = verifier }

    /// What the gateway learns of a body before it is queued.
    package struct Intake: Sendable {
        package var notificationUUID: String?
        package var notificationType: String?
        package var subtype: String?
        package var signedDate: Timestamp?
        /// What the body itself says, which decides where it lands (ruling 8); nil when unreadable.
        package var environment: StoreEnvironment?
        /// Why it will not be applied although Apple signed it: it is queued all the same, and the consumer puts it
        /// into quarantine.
        package var doubt: VerificationFailure?
    }

    /// Checks the envelope's form, chain, signature and date; what is nested waits for `verify`.
    ///
    /// Throws for what nobody vouches for and for what cannot be judged now (see `VerificationFailure.disposition`).
    package func intake(_ body: [UInt8], now: Timestamp) throws(VerificationFailure) -> Intake {
        let signedPayload = try SignedBody.signedPayload(of: body)
        let payload: NotificationPayload
        do {
            payload = try verifier.verify(signedPayload, as: NotificationPayload.self, now: now).payload
        } catch {
            guard error.disposition == .quarantine, !error.isRetryable else { throw error }
            return Intake(doubt: error)
        }
        return Intake(
            notificationUUID: payload.notificationUUID, notificationType: payload.notificationType?.raw,
            subtype: payload.subtype?.raw, signedDate: payload.signedDate,
            environment: StoreEnvironment(payload.origin.environment), doubt: nil)
    }

    /// Checks everything: the envelope, whose it is, and every nested part, which must agree with the envelope.
    ///
    /// `environments` are those that may enter here; both by default, since the body decides where it lands.
    package func verify(
        _ body: [UInt8], for identity: AppIdentity, now: Timestamp,
        environments: Set<StoreEnvironment> = Set(StoreEnvironment.allCases)
    ) throws(VerificationFailure) -> VerifiedNotification {
        try verify(
            signedPayload: try SignedBody.signedPayload(of: body), for: identity, now: now, environments: environments)
    }

    /// The same from the bare JWS, as the notification history lists it.
    package func verify(
        signedPayload: ArraySlice<UInt8>, for identity: AppIdentity, now: Timestamp,
        environments: Set<StoreEnvironment> = Set(StoreEnvironment.allCases)
    ) throws(VerificationFailure) -> VerifiedNotification {
        let envelope = try verifier.verify(signedPayload, as: NotificationPayload.self, now: now)
        let payload = envelope.payload
        if let mistake = Self.mistakes(in: payload, for: identity, environments: environments).first { throw mistake }
        try envelope.refuseDamage()
        guard let environment = StoreEnvironment(payload.origin.environment), let signedDate = payload.signedDate else {
            throw VerificationFailure(.payload, .notification, "signedDate or the environment is missing")
        }
        var notification = VerifiedNotification(
            envelope: envelope, environment: environment, signedDate: signedDate, identity: identity)
        switch envelope.payload.body {
        case .data(let data):
            try verify(data, into: &notification, now: now)
        case .appData(let data):
            guard let text = data.signedAppTransactionInfo else { break }
            let inner = try nested(text, as: AppTransactionPayload.self, now: now)
            try agree(inner, notification)
            do { try inner.refuseDamage() } catch { throw error.nested }
            notification.appTransaction = inner
        case .summary, .externalPurchaseToken, .unclaimInfo, .unknown, .none: break
        }
        return notification
    }

    /// All that does not fit in an envelope: its shape, and whose it is.
    static func mistakes(
        in payload: NotificationPayload, for identity: AppIdentity, environments: Set<StoreEnvironment>
    ) -> [VerificationFailure] {
        // Whoever cannot find the bundle id in a shape of tomorrow must not call it somebody else's.
        if let problem = unknownShape(of: payload) {
            let type = quoted(payload.notificationType?.raw ?? "")
            return [
                VerificationFailure(.unknownShape, .notification, "a \(type) of a shape that is not known \(problem)")
            ]
        }
        return identity.mistakes(in: payload.origin, of: .notification, environments: environments)
    }

    private static func unknownShape(of payload: NotificationPayload) -> String? {
        switch payload.body {
        case .unclaimInfo, .unknown, .none:
            if payload.origin.bundleID == nil { return "names no bundle id" }
            if payload.origin.environment == nil { return "names no environment" }
            return NotificationTable.row(of: payload).isAboutPurchase ? "has no data about a purchase" : nil
        case .data, .summary, .externalPurchaseToken, .appData: return nil
        }
    }

    private func verify(
        _ data: NotificationData, into notification: inout VerifiedNotification, now: Timestamp
    ) throws(VerificationFailure) {
        if let text = data.signedTransactionInfo {
            let inner = try nested(text, as: TransactionPayload.self, now: now)
            try agree(inner, notification)
            do { notification.transactionFact = try inner.fact() } catch { throw error.nested }
            notification.transaction = inner
        }
        if let text = data.signedRenewalInfo {
            let inner = try nested(text, as: RenewalInfoPayload.self, now: now)
            try agree(inner, notification)
            let fact: RenewalFact
            do { fact = try inner.fact() } catch { throw error.nested }
            if let other = notification.transactionFact?.originalTransactionID,
                let failure = Self.disagreement(renewalInfo: fact.originalTransactionID, transaction: other)
            {
                throw failure.nested
            }
            notification.renewalFact = fact
            notification.renewalInfo = inner
        }
    }

    private func nested<Payload: SignedPayload>(
        _ text: String, as kind: Payload.Type, now: Timestamp
    ) throws(VerificationFailure) -> Verified<Payload> {
        do { return try verifier.verify(Array(text.utf8)[...], as: kind, now: now) } catch { throw error.nested }
    }

    private func agree<Payload>(
        _ inner: Verified<Payload>, _ notification: VerifiedNotification
    ) throws(VerificationFailure) {
        if let failure = notification.identity.disagreements(
            in: inner.payload.origin, of: Payload.kind, environment: notification.environment
        ).first {
            throw failure
        }
    }

    /// Renewal information and the transaction beside it are about one subscription.
    static func disagreement(renewalInfo: String, transaction: String) -> VerificationFailure? {
        guard renewalInfo != transaction else { return nil }
        return VerificationFailure(
            .disagreement, .renewalInfo,
            "it is about \(quoted(renewalInfo)), the transaction beside it about \(quoted(transaction))")
    }
}

extension StoreEnvironment {
    /// What Apple calls it.
    package var appleName: String { self == .production ? "Production" : "Sandbox" }

    /// Nil for every other environment than the two from which data may come over a network.
    package init?(_ named: Raw<PayloadEnvironment>?) {
        switch named?.known {
        case .production: self = .production
        case .sandbox: self = .sandbox
        case .xcode, .localTesting, nil: return nil
        }
    }
}
