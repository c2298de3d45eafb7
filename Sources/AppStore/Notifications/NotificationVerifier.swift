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
        let environment = try check(envelope.payload, for: identity, environments: environments)
        try envelope.refuse(damaged: Decisive.notification)
        guard let signedDate = envelope.payload.signedDate else {
            throw VerificationFailure(.payload, .notification, "signedDate is missing")
        }
        var notification = VerifiedNotification(
            envelope: envelope, environment: environment, signedDate: signedDate, identity: identity)
        switch envelope.payload.body {
        case .data(let data):
            try verify(data, into: &notification, now: now)
        case .appData(let data):
            guard let text = data.signedAppTransactionInfo else { break }
            let inner = try nested(text, as: AppTransactionPayload.self, now: now)
            try agree(inner.payload.receiptType, environment, .appTransaction)
            try agree(bundle: inner.payload.bundleID, identity, .appTransaction)
            notification.appTransaction = inner
        case .summary, .externalPurchaseToken, .unclaimInfo, .unknown, .none: break
        }
        return notification
    }

    private func check(
        _ payload: NotificationPayload, for identity: AppIdentity, environments: Set<StoreEnvironment>
    ) throws(VerificationFailure) -> StoreEnvironment {
        // Whoever cannot find the bundle id in a shape of tomorrow must not call it somebody else's.
        if payload.origin.bundleID == nil || payload.origin.environment == nil {
            switch payload.body {
            case .unclaimInfo, .unknown, .none:
                throw VerificationFailure(
                    .unknownShape, .notification,
                    "a \(quoted(payload.notificationType?.raw ?? "")) of a shape that is not known names no "
                        + (payload.origin.bundleID == nil ? "bundle id" : "environment"))
            case .data, .summary, .externalPurchaseToken, .appData: break
            }
        }
        try identity.checkBundle(payload.origin.bundleID, part: .notification)
        let environment = try identity.environment(payload.origin.environment, part: .notification)
        try identity.checkAppleID(payload.origin.appAppleID, in: environment, part: .notification)
        guard environments.contains(environment) else {
            throw VerificationFailure(
                .wrongEnvironment, .notification, "it is from \(environment.rawValue), which is not allowed here")
        }
        return environment
    }

    private func verify(
        _ data: NotificationData, into notification: inout VerifiedNotification, now: Timestamp
    ) throws(VerificationFailure) {
        if let text = data.signedTransactionInfo {
            let inner = try nested(text, as: TransactionPayload.self, now: now)
            try agree(inner.payload.environment, notification.environment, .transaction)
            // Old non-consumables lack it; the envelope vouches for them.
            if inner.payload.bundleID != nil {
                try agree(bundle: inner.payload.bundleID, notification.identity, .transaction)
            }
            do { notification.transactionFact = try inner.fact() } catch { throw error.nested }
            notification.transaction = inner
        }
        if let text = data.signedRenewalInfo {
            let inner = try nested(text, as: RenewalInfoPayload.self, now: now)
            try agree(inner.payload.environment, notification.environment, .renewalInfo)
            let fact: RenewalFact
            do { fact = try inner.fact() } catch { throw error.nested }
            if let other = notification.transactionFact?.originalTransactionID, other != fact.originalTransactionID {
                throw VerificationFailure(
                    .disagreement, .renewalInfo,
                    "it is about \(quoted(fact.originalTransactionID)), the transaction beside it about \(quoted(other))",
                    isNested: true)
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

    private func agree(
        _ named: Raw<PayloadEnvironment>?, _ environment: StoreEnvironment, _ part: VerificationFailure.Part
    ) throws(VerificationFailure) {
        guard StoreEnvironment(named) == environment else {
            throw VerificationFailure(
                .disagreement, part,
                "its environment is \(quoted(named?.raw ?? "")), the envelope's is \(environment.appleName)",
                isNested: true)
        }
    }

    private func agree(
        bundle: String?, _ identity: AppIdentity, _ part: VerificationFailure.Part
    ) throws(VerificationFailure) {
        guard bundle == identity.bundleID else {
            throw VerificationFailure(
                .disagreement, part,
                "its bundle id is \(quoted(bundle ?? "")), the envelope's is \(quoted(identity.bundleID))",
                isNested: true)
        }
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
