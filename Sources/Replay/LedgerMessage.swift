package import Broker
internal import Consumer
package import Time

/// One message out of the ledger, or out of a file in its place.
package struct LedgerMessage: Sendable, Hashable {
    package enum Place: Sendable, Hashable, CustomStringConvertible {
        case offset(Int64)
        /// An entry of the embedded ledger.
        case entry(String)
        case line(Int, of: String)

        package var description: String {
            switch self {
            case .offset(let offset): "offset \(offset)"
            case .entry(let id): "entry \(id)"
            case .line(let number, let file): "\(file), line \(number)"
            }
        }
    }

    package var place: Place
    package var message: BrokerMessage

    package init(_ message: BrokerMessage, at place: Place) {
        self.message = message
        self.place = place
    }

    package var app: String? { message.headers[MessageHeader.app] }

    /// When it came to count: when it was received, or put back to work from quarantine. Nil when nothing says.
    package var receivedAt: Timestamp? {
        let named = [MessageHeader.receivedAt, MessageHeader.returnedAt].compactMap { name in
            message.headers[name].flatMap { Timestamp(rfc3339: $0) }
        }
        return named.max() ?? message.timestamp
    }
}
