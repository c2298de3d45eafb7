package import Entitlements

/// A state made of observations and nothing else: one record a lineage, in memory.
///
/// Records lie encoded, a third of what they take as values. News is joined among itself first and with what lies there
/// now and then: folding is a join, so that when makes no difference (invariant 3).
package struct Fold: Sendable {
    private static let warmLineages = 4096

    package let limit: Int
    private var cold: [LineageID: [UInt8]] = [:]
    private var warm: [LineageID: LineageRecord] = [:]

    /// At most `limit` lineages are kept; one more is refused.
    package init(limit: Int = 2_000_000) { self.limit = limit }

    package mutating func fold(_ observation: Observation) throws(ReplayError) {
        warm[observation.lineage, default: LineageRecord(lineage: observation.lineage)].fold(observation)
        if warm.count >= Self.warmLineages { try settle() }
    }

    /// Joins all news with what lies there; call it before asking.
    package mutating func settle() throws(ReplayError) {
        for (lineage, news) in warm {
            var record = news
            if let before = try self.record(of: lineage) { record = before.merging(news) }
            // As the store does: what nothing is known of is not kept.
            guard record != LineageRecord(lineage: lineage) else { continue }
            cold[lineage] = record.encoded()
        }
        warm.removeAll(keepingCapacity: true)
        guard cold.count <= limit else { throw .tooManyLineages(limit: limit) }
    }

    package var count: Int { cold.count }
    package var lineages: [LineageID] { Array(cold.keys) }

    /// The canonical bytes of a lineage's record.
    package func bytes(of lineage: LineageID) -> [UInt8]? { cold[lineage] }

    package func record(of lineage: LineageID) throws(ReplayError) -> LineageRecord? {
        guard let bytes = cold[lineage] else { return nil }
        do { return try LineageRecord(decoding: bytes, lineage: lineage) } catch {
            throw .unreadableRecord("\(lineage.originalTransactionID): \(error)")
        }
    }

    /// In the order of their keys: app, environment, original transaction id, by their bytes.
    package var sortedLineages: [LineageID] { cold.keys.sorted { $0.isOrderedBefore($1) } }
}

extension LineageID {
    package func isOrderedBefore(_ other: LineageID) -> Bool {
        if app != other.app { return app.rawValue.utf8.lexicographicallyPrecedes(other.app.rawValue.utf8) }
        if environment != other.environment { return environment.rawValue < other.environment.rawValue }
        return originalTransactionID.utf8.lexicographicallyPrecedes(other.originalTransactionID.utf8)
    }
}
