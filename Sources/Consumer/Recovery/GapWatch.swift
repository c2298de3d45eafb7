import AppStore
package import CacheTier
package import Entitlements
package import Runtime
import Synchronization
package import Time

/// Enters into Redis when notifications may have been lost by us: none of our gateways or consumers was there, or a gateway
/// answered Apple with something else than 2xx. What Redis cannot be told now it is told later.
package final class GapWatch: Service {
    package let name: String
    private let role: RecoveryStore.Role
    private let stores: [RecoveryStore]
    private let silence: Duration
    private let pulse: Duration
    private let isThere: @Sendable () -> Bool
    private let standings: BackfillStandings
    private let clock: WallClock
    private let log: Log
    private let turnedAway = Mutex<[AppleStore: BackfillGap]>([:])
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// `isThere` says whether this process can do its work. `standings` are told what Redis says with each pulse.
    package init(
        _ role: RecoveryStore.Role, stores: [RecoveryStore], silence: Duration, pulse: Duration = .seconds(5),
        standings: BackfillStandings, clock: WallClock = .system, log: Log,
        isThere: @escaping @Sendable () -> Bool = { true }
    ) {
        name = "gap-watch-\(role.rawValue)"
        self.role = role
        self.stores = stores
        self.silence = silence
        self.pulse = pulse
        self.isThere = isThere
        self.standings = standings
        self.clock = clock
        self.log = log.part("gap-watch")
    }

    package func start() async {
        let task = Task(name: name) {
            while !Task.isCancelled {
                await self.beat()
                // Cancelled, the loop looks next.
                try? await Task.sleep(for: self.pulse)
            }
        }
        work.withLock { $0 = task }
    }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
        // What was refused last must not be forgotten with this process.
        await beat()
    }

    /// Takes in, from any thread, that Apple was not told 2xx; waits for nothing.
    package func refused(_ app: AppID, _ environment: StoreEnvironment, at now: Timestamp) {
        turnedAway.withLock { refused in
            let place = AppleStore(app, environment)
            refused[place] = BackfillGap(.refused, from: min(refused[place]?.from ?? now, now), until: now)
        }
    }

    func beat() async {
        for store in stores {
            let log = log.with(["app": .init(store.app), "environment": .init(store.environment.rawValue)])
            // None of them waits for another to work.
            await attempt("Redis was not told that this process is there", log) { () async throws(StoreError) in
                try await sayThere(store, log)
            }
            await attempt("Redis was not told of what Apple was refused", log) { () async throws(StoreError) in
                try await sayRefused(store, log)
            }
            await attempt("Redis did not say what gaps there are", log) { () async throws(StoreError) in
                standings.note(try await store.standing(), of: store.app, store.environment)
            }
        }
    }

    private func attempt(_ failing: StaticString, _ log: Log, _ body: () async throws(StoreError) -> Void) async {
        do throws(StoreError) { try await body() } catch { log.debug(failing, ["error": .init(error)]) }
    }

    private func sayThere(_ store: RecoveryStore, _ log: Log) async throws(StoreError) {
        guard isThere(), let silent = try await store.beat(role, at: clock.now(), silence: silence) else { return }
        log.warning(
            "nobody was there for a while; Apple's history is read from then on",
            ["role": .init(role.rawValue), "seconds": .init(Int64(silent / .seconds(1)))])
    }

    private func sayRefused(_ store: RecoveryStore, _ log: Log) async throws(StoreError) {
        let place = AppleStore(store.app, store.environment)
        if let gap = turnedAway.withLock({ $0.removeValue(forKey: place) }) {
            do throws(StoreError) { try await store.note(gap) } catch {
                turnedAway.withLock { refused in
                    let later = refused[place]
                    refused[place] = BackfillGap(
                        .refused, from: gap.from, until: max(gap.until, later?.until ?? gap.until))
                }
                throw error
            }
            log.info("Apple was not told 2xx; its history is read from then on", ["from": .init(gap.from)])
        }
    }
}
