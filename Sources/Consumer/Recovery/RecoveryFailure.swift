package import AppStore
package import Broker
package import CacheTier

/// Why a recovery or backfill stopped before its end. How far it came is in Redis, and whoever goes on begins there.
package enum RecoveryFailure: Error, Sendable, CustomStringConvertible {
    /// Apple does not answer, or refuses.
    case apple(ServerAPIFailure)
    /// Apple was asked about several lineages in a row, and was silent each time.
    case appleSilent
    case store(StoreError)
    /// RabbitMQ did not take what was found.
    case notTaken(BrokerError)
    /// It cannot be said now whether Apple signed what was found.
    case unverifiable(VerificationFailure)
    case leaseLost
    /// The process ends.
    case ended

    init(_ failure: RecoveryStore.Failure) {
        switch failure {
        case .store(let error): self = .store(error)
        case .leaseLost: self = .leaseLost
        }
    }

    package var description: String {
        switch self {
        case .apple(let failure): "\(failure)"
        case .appleSilent: "Apple does not answer"
        case .store(let error): "\(error)"
        case .notTaken(let error): "RabbitMQ did not take a notification: \(error)"
        case .unverifiable(let failure): "\(failure)"
        case .leaseLost: "another process has taken over"
        case .ended: "this process ends"
        }
    }
}
