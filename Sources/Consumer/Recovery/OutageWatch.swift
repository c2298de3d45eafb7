package import AppStore
package import CacheTier
package import Entitlements
package import Runtime
package import Time

/// Enters into Redis that Apple is away, while it is, and that it is back: so that some consumer makes up for it, whichever
/// process noticed, and whether or not that process lives to see the end.
package actor OutageWatch: Service {
    /// What a process noticed about Apple.
    package struct Sighting: Sendable, Hashable {
        package let app: AppID
        package let environment: StoreEnvironment
        package let kind: OutageNotice.Kind
        /// When the first call failed.
        package let began: Timestamp

        package init(
            app: AppID, environment: StoreEnvironment, _ kind: OutageNotice.Kind, began: Timestamp
        ) {
            self.app = app
            self.environment = environment
            self.kind = kind
            self.began = began
        }
    }

    package typealias Note = @Sendable (Sighting, OutageNotice) async throws(StoreError) -> Void

    private struct Place: Hashable {
        let app: AppID
        let environment: StoreEnvironment
    }

    package nonisolated let name = "outage-watch"
    private let note: Note
    private let pulse: Duration
    private let clock: WallClock
    private let log: Log
    /// What Redis is to be told. One that is over is told once, one that lasts again and again.
    private var untold: [Place: Sighting] = [:]
    private var work: Task<Void, Never>?

    /// `note` enters one into Redis; one that lasts is told every `pulse`, so that others see that somebody watches it.
    package init(
        pulse: Duration = .seconds(10), clock: WallClock = .system, log: Log, note: @escaping Note
    ) {
        self.pulse = pulse
        self.clock = clock
        self.log = log.part("outage-watch")
        self.note = note
    }

    package func start() async { work = Task(name: name) { await self.beat() } }

    package func drain() async {
        let work = self.work.take()
        work?.cancel()
        await work?.value
    }

    /// Takes in what this process has noticed, and enters it at once, or as soon as Redis is there.
    package func noticed(_ sighting: Sighting) async {
        let place = Place(app: sighting.app, environment: sighting.environment)
        untold[place] = sighting
        await tell(place, sighting)
    }

    private func beat() async {
        while true {
            do { try await Task.sleep(for: pulse) } catch { return }
            for (place, sighting) in untold where !Task.isCancelled { await tell(place, sighting) }
        }
    }

    private func tell(_ place: Place, _ sighting: Sighting) async {
        do throws(StoreError) {
            try await note(sighting, OutageNotice(sighting.kind, began: sighting.began, now: clock.now()))
            // It may have ended while this was told.
            if sighting.kind == .light, untold[place] == sighting { untold[place] = nil }
        } catch {
            log.warning(
                "an outage of Apple's was not entered, and will be",
                ["app": .init(place.app), "environment": .init(place.environment.rawValue), "error": .init(error)])
        }
    }
}

extension OutageWatch.Sighting {
    /// Nil for a change that no outage is behind.
    package init?(_ change: AppleHealthMonitor.Change) {
        guard let began = change.outageBegan else { return nil }
        // Apple was there when it answered last; nobody knows when it went after that.
        self.init(
            app: change.app, environment: change.environment, change.to == .fine ? .light : .dark,
            began: change.lastGood.map { min($0, began) } ?? began)
    }
}
