package import Broker
package import CacheTier
package import Entitlements
package import Redis
package import Runtime
import Synchronization

/// Sees to it that every published product map is told of, also when whoever published it was interrupted; and that the
/// settings' map is, when it is another one than at the last start and counts.
package final class ProductMapRecomputeService: Service {
    package let name = "product-map-recompute"
    private let recomputer: ProductMapRecomputer
    private let policies: [AppID: EvaluationPolicy]
    private let settings: Mutex<[AppID: ProductMapDocument]>
    private let pause: Duration
    private let isReady: @Sendable () -> Bool
    private let log: Log
    private let work = Mutex<Task<Void, Never>?>(nil)

    package init(
        policies: [AppID: EvaluationPolicy], settings: [AppID: ProductMapDocument] = [:],
        recomputer: ProductMapRecomputer, pause: Duration = .seconds(5), log: Log,
        isReady: @escaping @Sendable () -> Bool
    ) {
        self.recomputer = recomputer
        self.policies = policies
        self.settings = Mutex(settings)
        self.pause = pause
        self.isReady = isReady
        self.log = log.part("product-maps")
    }

    package func start() async { work.withLock { $0 = Task(name: "product-map-recompute") { await run() } } }

    package func drain() async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    private func run() async {
        while !Task.isCancelled {
            // Cancelled means draining, which the loop looks for next.
            try? await Task.sleep(for: pause)
            for (app, policy) in policies where isReady() && !Task.isCancelled { await recompute(app, policy) }
        }
    }

    private func recompute(_ app: AppID, _ policy: EvaluationPolicy) async {
        do throws(ProductMapRecomputer.Failure) {
            if let map = settings.withLock({ $0[app] }) {
                try await recomputer.note(settings: map, of: app)
                settings.withLock { $0[app] = nil }
            }
            guard case .done(let done) = try await recomputer.run(app, policy: policy) else { return }
            for one in done {
                log.info(
                    "everybody was told of another product map",
                    [
                        "app": .init(app), "version": .init(one.version),
                        "production": .init(one[.production].changed), "sandbox": .init(one[.sandbox].changed),
                        "toBeAskedAbout": .init(one[.production].swept &+ one[.sandbox].swept),
                    ])
            }
        } catch {
            log.warning("telling of another product map was interrupted", ["app": .init(app), "reason": .init(error)])
        }
    }
}

extension ProductMapRecomputer {
    /// Announces on the exchange `events`, if the consumer's settings want events at all.
    package init(
        redis: any RedisCommands, settings: ProductMapSettings, publisher: any MessagePublisher, names: BrokerNames,
        consumer: ConsumerSettings
    ) {
        self.init(redis: redis, settings: settings) { change in
            guard consumer.publishEvents else { return }
            let event = ProductMapChangeEvent(change)
            try await publisher.publish(event.message, to: names.events, routingKey: event.routingKey, mandatory: false)
        }
    }
}
