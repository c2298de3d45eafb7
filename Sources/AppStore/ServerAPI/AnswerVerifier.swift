package import Entitlements
package import Time

/// Verifies the signed texts in answers of the App Store Server API: Apple's signature, this app, this environment.
///
/// Lists give a result for each element: one that is damaged costs itself and not its page.
package struct AnswerVerifier: Sendable {
    package typealias Transaction = SignedDataVerifier.Accepted<TransactionPayload>

    private let verifier: SignedDataVerifier
    private let identity: AppIdentity
    private let environment: StoreEnvironment

    package init(_ verifier: JWSVerifier, identity: AppIdentity, environment: StoreEnvironment) {
        self.verifier = SignedDataVerifier(verifier)
        self.identity = identity
        self.environment = environment
    }

    package func transaction(
        in response: TransactionInfoResponse, now: Timestamp
    ) throws(VerificationFailure) -> Transaction {
        try transaction(response.signedTransactionInfo, bundleID: nil, now: now)
    }

    package func transactions(
        in response: HistoryResponse, now: Timestamp
    ) -> [Result<Transaction, VerificationFailure>] {
        each(response.signedTransactions) { text throws(VerificationFailure) in
            try transaction(text, bundleID: response.bundleID, now: now)
        }
    }

    package func transactions(
        in response: RefundHistoryResponse, now: Timestamp
    ) -> [Result<Transaction, VerificationFailure>] {
        each(response.signedTransactions) { text throws(VerificationFailure) in
            try transaction(text, bundleID: nil, now: now)
        }
    }

    /// Every subscription of the answer as news about its lineage; Apple's status is in it.
    package func observations(
        in response: StatusResponse, app: AppID, now: Timestamp
    ) -> [Result<Observation, VerificationFailure>] {
        each(response.data.flatMap(\.lastTransactions)) { item throws(VerificationFailure) in
            // Without its transaction there is nothing to verify; the empty text is refused as malformed.
            let observation = try verifier.observation(
                transaction: Array((item.signedTransactionInfo ?? "").utf8)[...],
                renewalInfo: item.signedRenewalInfo.map { Array($0.utf8)[...] }, status: item.status, app: app,
                identity: identity, source: .status, answerFor: response.bundleID, now: now)
            try check(observation.lineage.environment)
            return observation
        }
    }

    private func transaction(
        _ text: String, bundleID: String?, now: Timestamp
    ) throws(VerificationFailure) -> Transaction {
        try verifier.verify(
            Array(text.utf8)[...], as: TransactionPayload.self, for: identity, answerFor: bundleID, now: now,
            environments: [environment])
    }

    private func check(_ found: StoreEnvironment) throws(VerificationFailure) {
        guard found != environment else { return }
        throw VerificationFailure(
            .wrongEnvironment, .transaction, "it is from \(found.rawValue), the answer from \(environment.rawValue)")
    }

    private func each<Element, Value>(
        _ elements: [Element], _ read: (Element) throws(VerificationFailure) -> Value
    ) -> [Result<Value, VerificationFailure>] {
        elements.map { element in
            do throws(VerificationFailure) { return .success(try read(element)) } catch { return .failure(error) }
        }
    }
}
