package import Entitlements
package import Time

/// What a product map would change for everybody, counted holder by holder; nothing else is kept of them.
package struct ProductMapImpact: Sendable {
    /// Customers, and a few of them by name.
    package struct Tally: Sendable, Hashable {
        package private(set) var count: UInt64 = 0
        package private(set) var samples: [String] = []

        mutating func add(_ customer: String, samples limit: Int) {
            count &+= 1
            if samples.count < limit { samples.append(customer) }
        }
    }

    package struct Entitlement: Sendable, Hashable {
        package fileprivate(set) var gain = Tally()
        package fileprivate(set) var lose = Tally()
        package fileprivate(set) var otherEnd = Tally()
    }

    /// One environment's; the two are never added up (invariant 7).
    package struct Part: Sendable, Hashable {
        package fileprivate(set) var customers: UInt64 = 0
        package fileprivate(set) var unclaimed: UInt64 = 0
        package fileprivate(set) var lineages: UInt64 = 0
        /// Customers whose answer would be another one, and those who gain or lose at least one entitlement.
        package fileprivate(set) var changed: UInt64 = 0
        package fileprivate(set) var gained: UInt64 = 0
        package fileprivate(set) var lost: UInt64 = 0
        package fileprivate(set) var entitlements: [String: Entitlement] = [:]
        /// Lineages whose product decides now and is not in the map.
        package fileprivate(set) var unmappedBefore: UInt64 = 0
        package fileprivate(set) var unmappedAfter: UInt64 = 0
        /// The products of `unmappedAfter`, with their lineages; the first thousand.
        package fileprivate(set) var unmappedProducts: [String: UInt64] = [:]
        /// For each product that the new map drops, the lineages that carry it, now or in their past.
        package fileprivate(set) var dropped: [String: UInt64] = [:]
    }

    package static let productsKept = 1000

    package let old: ProductMap
    package let new: ProductMap
    package let instant: Timestamp
    package private(set) var parts: [StoreEnvironment: Part] = [:]
    /// Holders whose records this version of Holdfast cannot read.
    package private(set) var unreadable = 0
    private let policy: EvaluationPolicy
    private let samples: Int
    private let droppedIDs: Set<String>

    package init(
        from old: ProductMap, to new: ProductMap, policy: EvaluationPolicy, at instant: Timestamp, samples: Int
    ) {
        self.old = old
        self.new = new
        self.policy = policy
        self.instant = instant
        self.samples = samples
        droppedIDs = Set(old.products.keys).subtracting(new.products.keys)
    }

    package subscript(environment: StoreEnvironment) -> Part { parts[environment] ?? Part() }

    /// Lineages, of both environments, that carry a product which the new map drops.
    package var lineagesDropped: UInt64 { parts.values.reduce(0) { $0 &+ $1.dropped.values.reduce(0, &+) } }

    package mutating func add(_ batch: HolderScan.Batch) {
        unreadable += batch.unreadable
        for found in batch.found { add(found) }
    }

    private mutating func add(_ found: HolderScan.Found) {
        let difference = ProductMapDifference(
            of: found.records, from: old, to: new, policy: policy, at: instant)
        var part = self[found.environment]
        part.lineages &+= UInt64(found.records.count)
        part.unmappedBefore &+= UInt64(difference.unmappedBefore.count)
        part.unmappedAfter &+= UInt64(difference.unmappedAfter.count)
        for product in difference.unmappedAfter
        where part.unmappedProducts[product] != nil || part.unmappedProducts.count < Self.productsKept {
            part.unmappedProducts[product, default: 0] &+= 1
        }
        if !droppedIDs.isEmpty {
            for record in found.records {
                for id in Set(record.transactions.map(\.productID)).intersection(droppedIDs) {
                    part.dropped[id, default: 0] &+= 1
                }
            }
        }
        switch found.holder {
        case .unclaimed: part.unclaimed &+= 1
        case .customer(let customer): part.count(customer, difference, samples: samples)
        }
        parts[found.environment] = part
    }
}

extension ProductMapImpact.Part {
    fileprivate mutating func count(_ customer: String, _ difference: ProductMapDifference, samples: Int) {
        customers &+= 1
        if difference.isChanged { changed &+= 1 }
        if !difference.gains.isEmpty { gained &+= 1 }
        if !difference.losses.isEmpty { lost &+= 1 }
        for id in difference.gains { entitlements[id, default: .init()].gain.add(customer, samples: samples) }
        for id in difference.losses { entitlements[id, default: .init()].lose.add(customer, samples: samples) }
        for id in difference.otherEnds { entitlements[id, default: .init()].otherEnd.add(customer, samples: samples) }
    }
}

extension ProductMapImpact {
    package struct Interrupted: Error, Sendable, CustomStringConvertible {
        package var description: String { "Redis was restarted or replaced while its keys were counted; run it again" }
    }

    /// Counts every holder of `app`; `progress` hears how much of Redis has been walked through.
    package mutating func count(
        _ app: AppID, _ scan: HolderScan, progress: (Double) -> Void
    ) async throws {
        var scan = scan
        var cursor = HolderScan.beginning
        var server: String?
        repeat {
            let batch = try await scan.batch(after: cursor)
            if let server, server != batch.server { throw Interrupted() }
            server = batch.server
            add(batch)
            cursor = batch.cursor
            progress(batch.isLast ? 1 : HolderScan.fraction(at: cursor))
        } while cursor != HolderScan.beginning
    }
}
