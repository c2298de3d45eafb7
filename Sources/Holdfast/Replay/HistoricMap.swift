import CacheTier
import Entitlements
import Replay
import Time

/// The product map by which a question about the past is answered, and where it is from.
struct HistoricMap: Sendable {
    let map: ProductMap
    /// Nil for the settings' map of today.
    let facts: PublishedProductMap.Facts?
    let sentence: String

    /// The newest of `versions` that was published by `instant`; before the first publication version 0, which the
    /// settings had then. Nil when there are none.
    static func version(
        inForceAt instant: Timestamp, of versions: [PublishedProductMap.Facts]
    ) -> PublishedProductMap.Facts? {
        // Version 0 is dated as the first publication, which put an end to it.
        let published = versions.filter { $0.version > 0 && $0.publishedAt <= instant }
        return published.max { $0.version < $1.version } ?? versions.first { $0.version == 0 }
    }
}

extension ReplaySession {
    /// The map in force at --as-known-at; now, if that is not named. Without Redis, or a version in it, the settings'.
    func productMap(of app: AppSettings) async throws(ReplayError) -> HistoricMap {
        let maps = ProductMapStore(redis: redis)
        let instant = options.asKnownAt
        func settingsMap(_ why: String) -> HistoricMap {
            let doubt = instant.map { ", and may not be what counted at \($0.rfc3339)" } ?? ""
            return HistoricMap(
                map: app.map, facts: nil, sentence: "The settings' product map of now was used: \(why)\(doubt).")
        }
        do throws(StoreError) {
            let versions = try await maps.versions(of: app.id).map(\.facts)
            guard !versions.isEmpty else { return settingsMap("Redis has no published version of it") }
            let version =
                if let instant {
                    HistoricMap.version(inForceAt: instant, of: versions)?.version
                } else { try await maps.current(of: app.id)?.version }
            guard let version, let found = try await maps.version(version, of: app.id) else {
                return settingsMap("Redis lacks the version that was in force")
            }
            let origin =
                version == 0
                ? "the settings' before the first publication at" : "published at"
            return HistoricMap(
                map: found.map, facts: found.facts,
                sentence: "Product map version \(version) was used, \(origin) \(found.facts.publishedAt.rfc3339)"
                    + (instant.map { ": the one in force at \($0.rfc3339)." } ?? ": the one in force now."))
        } catch {
            guard case .redis = error else { throw .store(error) }
            return settingsMap("Redis does not answer (\(error))")
        }
    }
}
