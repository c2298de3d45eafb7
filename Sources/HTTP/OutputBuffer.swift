internal import CLinux
internal import Glibc

/// What a connection still has to send, in order.
struct OutputBuffer {
    enum Outcome { case sent, socketIsFull, failed }

    /// Appended to by whoever writes; what has been sent goes away at the next `send`.
    var bytes: [UInt8] = []
    private var sent = 0
    /// Since the connection was accepted.
    private(set) var sentInAll = 0

    /// How much waits.
    var count: Int { bytes.count - sent }
    var isEmpty: Bool { sent == bytes.count }

    /// Sends what the socket takes, and tells how many bytes went at each step.
    mutating func send(to descriptor: Int32, _ count: (Int) -> Void) -> Outcome {
        while sent < bytes.count {
            let taken = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, Int32(MSG_NOSIGNAL))
            }
            if taken < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN ? .socketIsFull : .failed
            }
            sent += taken
            sentInAll &+= taken
            count(taken)
        }
        // A large answer's memory is not kept for small ones.
        bytes.removeAll(keepingCapacity: bytes.capacity <= 16 << 10)
        sent = 0
        return .sent
    }

    mutating func discard() {
        bytes = []
        sent = 0
    }
}
