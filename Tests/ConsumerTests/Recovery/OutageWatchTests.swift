import CacheTier
import Entitlements
import Runtime
import Synchronization
import Testing
import Time

@testable import Consumer

@Suite("Outages that are told", .timeLimit(.minutes(2))) struct OutageWatchTests {
    private static let noon = Timestamp(milliseconds: 1_764_000_000_000)

    @Test func aChangeTellsOfItsOwnPlaceOnly() async {
        let told = Told()
        let watch = OutageWatch(pulse: .seconds(3600), clock: WallClock { Self.noon }, log: .discarding) {
            sighting, _ in
            told.add(sighting.app)
        }
        let apps = ["a", "b", "c"].map { AppID($0) }
        for app in apps {
            await watch.noticed(
                OutageWatch.Sighting(app: app, environment: .production, .dark, began: Self.noon))
        }
        #expect(told.apps == apps)
    }

    private final class Told: Sendable {
        private let state = Mutex<[AppID]>([])
        var apps: [AppID] { state.withLock { $0 } }
        func add(_ app: AppID) { state.withLock { $0.append(app) } }
    }
}
