package import Entitlements
package import Time

/// What is known of a customer, for whoever wants to ask Apple about it and answer by both.
package struct KnownCustomer: Sendable {
    let entry: MemoryTier.Entry
    let source: Answer.Source

    package var records: [LineageRecord] { entry.customer.records }

    /// The same with what Apple said since, about lineages that the customer has; nothing is kept of it here.
    ///
    /// A lineage that the news gives to somebody else is the customer's no longer. One that the customer is not known to
    /// have is not added: who has it depends on claims that only the store knows.
    package func folding(_ news: [Observation], under policy: TransferPolicy) -> KnownCustomer {
        guard !news.isEmpty else { return self }
        let customer = entry.customer
        let holder = Holder.customer(customer.key.customer)
        let records = customer.records.compactMap { known in
            var record = known
            for observation in news { record.fold(observation) }
            let isGone =
                Holder.all(of: known, under: policy).contains(holder)
                && !Holder.all(of: record, under: policy).contains(holder)
            return isGone ? nil : record
        }
        let folded = CachedCustomer(
            key: customer.key, revision: customer.revision, records: records, readAt: customer.readAt,
            epoch: customer.epoch, storedBytes: customer.cost)
        return KnownCustomer(entry: MemoryTier.Entry(customer: folded, doubt: entry.doubt), source: source)
    }
}

extension EntitlementCache {
    /// What a read would be made of, as `load` finds it.
    package func known(_ key: CustomerKey) async throws(ReadFailure) -> KnownCustomer {
        if let entry = answerable(key) { return KnownCustomer(entry: entry, source: .memory) }
        let (entry, source) = try await entry(for: key)
        return KnownCustomer(entry: entry, source: source)
    }

    /// What memory has, however doubtful; nil when it has nothing.
    package func remembered(_ key: CustomerKey) -> KnownCustomer? {
        inMemory(key).map { KnownCustomer(entry: $0, source: .memory) }
    }

    package func answer(_ known: KnownCustomer, at instant: Timestamp) -> Answer {
        answer(known.entry, from: known.source, at: instant)
    }
}
