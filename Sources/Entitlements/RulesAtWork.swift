import Time

// Which rows of the table bear on an answer or on a piece of news, for explanations and logs. What decided is named by
// the verdict itself.

extension LineageRecord {
    /// The rules that bear on what the record means at `instant`, in the order of the table.
    func rulesAtWork(on evaluation: LineageEvaluation, _ period: CurrentPeriod?, at instant: Timestamp) -> [Rule] {
        let begun = transactions.prefix { $0.purchaseDate <= instant }
        guard let period else { return [.newestPeriod] }
        let newest = period.transaction
        let older = begun.filter { $0.transactionID != newest.transactionID && !$0.isSamePeriod(as: newest) }
        let rules = Rule.allCases.filter { rule in
            switch rule {
            case .olderRefund: older.contains { $0.revocationDate != nil }
            case .proratedRefund: period.revocation?.type == "REFUND_PRORATED"
            case .seats: period.hasAddedSeats || newest.revokedSeatQuantity ?? 0 > 0
            case .upgraded: begun.contains(where: \.isUpgraded)
            case .newestPeriod: transactions.count > 1
            case .productChange:
                evaluation.pendingChange ?? .cancel != .cancel
                    || older.last.map { $0.productID != newest.productID } ?? false
            case .familyShare: newest.isShared
            case .oneTimePurchase: period.kind != .autoRenewable
            case .olderTransaction: older.contains { $0.signedDate > period.signedDate }
            case .renewalOff: evaluation.state == .canceled
            // Those that nothing but the verdict tells of, and those about the taking in.
            case .gracePeriod, .billingRetry, .hold, .refundReversed, .notice, .consumptionRequest: false
            }
        }
        return rules.contains(evaluation.rule)
            ? rules : Rule.allCases.filter { rules.contains($0) || $0 == evaluation.rule }
    }

    /// The rules that bear on taking in a piece of news, in the order of the table.
    package func rulesAtWork(takingIn news: Observation) -> [Rule] {
        Rule.allCases.filter { rule in
            switch rule {
            case .olderRefund: news.transaction.map { isOlder($0) && $0.revocationDate != nil } ?? false
            case .refundReversed: news.transaction.map(reversesRefund) ?? false
            case .proratedRefund: news.transaction?.revocationType == "REFUND_PRORATED"
            case .seats: news.transaction.map(isAboutSeats) ?? false
            case .upgraded: news.transaction?.isUpgraded ?? false
            case .familyShare: news.transaction?.isShared ?? false
            case .oneTimePurchase: news.transaction.map { $0.kind != .autoRenewable } ?? false
            case .olderTransaction: news.transaction.map(isOlder) ?? false
            case .notice: news.isNotice
            case .consumptionRequest: news.consumptionRequest != nil
            case .newestPeriod, .productChange, .gracePeriod, .billingRetry, .renewalOff, .hold: false
            }
        }
    }

    /// `Rule.refundReversed`: the held version is revoked, and a later one is not. Folding needs nothing else than
    /// that the later version counts.
    private func reversesRefund(_ news: TransactionFact) -> Bool {
        transactions.contains {
            $0.transactionID == news.transactionID && $0.revocationDate != nil && news.revocationDate == nil
                && $0.isSuperseded(by: news)
        }
    }

    /// `Rule.olderTransaction`: there is a newer period, so this one is not the newest because it came last.
    private func isOlder(_ news: TransactionFact) -> Bool {
        transactions.contains {
            $0.transactionID != news.transactionID && news.isOlderPeriod(than: $0) && !news.isSamePeriod(as: $0)
        }
    }

    /// `Rule.seats`
    private func isAboutSeats(_ news: TransactionFact) -> Bool {
        news.revokedSeatQuantity ?? 0 > 0
            || transactions.contains { $0.transactionID != news.transactionID && news.isSamePeriod(as: $0) }
    }
}

extension Observation {
    /// `Rule.notice`: nothing that could be folded.
    package var isNotice: Bool { transaction == nil && renewal == nil && status == nil && claim == nil }

    /// `Rule.consumptionRequest`: what is to be answered once, however often and under however many ids it is asked;
    /// nil for other news.
    package var consumptionRequest: String? {
        notificationType == "CONSUMPTION_REQUEST" ? transaction?.transactionID : nil
    }
}
