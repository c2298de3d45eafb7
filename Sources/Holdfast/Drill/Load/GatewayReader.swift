import HTTP
import Runtime
import Synchronization
import Time

/// Reads entitlements as an app backend behind a load balancer does: of any gateway that is up, and of another one when a
/// connection is refused or lost.
final class GatewayReader: Sendable {
    let gateways: [String]
    private let client: HTTPClient
    private let key: String
    private let app: String
    private let clock: WallClock
    private let up: Mutex<Set<Int>>

    init(gateways: [String], key: String, app: String, client: HTTPClient, clock: WallClock = .system) {
        self.gateways = gateways
        self.key = key
        self.app = app
        self.client = client
        self.clock = clock
        up = Mutex(Set(gateways.indices))
    }

    /// Takes a gateway out of the balance, or in again.
    func set(_ gateway: Int, isUp: Bool) {
        up.withLock { up in
            if isUp { up.insert(gateway) } else { up.remove(gateway) }
        }
    }

    var gatewaysUp: [Int] { up.withLock { $0.sorted() } }

    /// Reads of `gateway`, or of any that is up.
    func read(_ customer: String, from gateway: Int? = nil) async -> Reading {
        var failovers = 0
        var tried: Set<Int> = []
        while true {
            let left = gatewaysUp.filter { !tried.contains($0) }
            guard let chosen = gateway ?? left.randomElement() ?? tried.randomElement() else {
                return Reading(
                    customer: customer, gateway: 0, sentAt: clock.now(), latency: .zero,
                    outcome: .failed("no gateway is up"))
            }
            let sentAt = clock.now()
            let began = ContinuousClock.now
            let outcome: Reading.Outcome
            do {
                let response = try await client.send(
                    HTTPClientRequest(
                        .get, "\(gateways[chosen])/v1/apps/\(app)/customers/\(customer)/entitlements",
                        headers: ["Authorization": "Bearer \(key)"]))
                outcome = Reading.Outcome(response)
            } catch {
                let isOut = !gatewaysUp.contains(chosen)
                // What a load balancer does when a gateway that was just killed hangs up. Of one that should be up, it is
                // a failure.
                if gateway == nil, isOut, error.code == .unreachable || error.code == .connectionLost,
                    tried.insert(chosen).inserted
                {
                    failovers += 1
                    continue
                }
                outcome = .failed("gateway-\(chosen + 1): \(error)")
            }
            return Reading(
                customer: customer, gateway: chosen, sentAt: sentAt, latency: ContinuousClock.now - began,
                failovers: failovers,
                outcome: outcome)
        }
    }
}
