package import Broker
package import CacheTier
internal import Runtime

/// Why a replay could not go on.
package enum ReplayError: Error, Sendable, CustomStringConvertible {
    case broker(BrokerError)
    case store(StoreError)
    /// A file that cannot be read or written, or that is not what it should be.
    case file(String)
    /// More lineages than may be kept in memory.
    case tooManyLineages(limit: Int)
    /// A record that this very program encoded and cannot read again.
    case unreadableRecord(String)

    package var description: String {
        switch self {
        case .broker(let error): "\(error)"
        case .store(let error): "\(error)"
        case .file(let sentence): sentence
        case .tooManyLineages(let limit):
            "there are more than \(limit) lineages: replay a part (--app, --environment), or raise --max-lineages where "
                + "there is memory for it, about 1.5 KB each and more for long histories"
        case .unreadableRecord(let sentence): "a record cannot be read back: \(sentence)"
        }
    }

    /// Runs what may fail at a file.
    static func file<Value>(_ body: () throws(SystemError) -> Value) throws(ReplayError) -> Value {
        do throws(SystemError) { return try body() } catch { throw .file("\(error)") }
    }
}
