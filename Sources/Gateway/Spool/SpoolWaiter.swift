internal import Synchronization

/// An append that waits for the disk. It is told once: by the writer, or by the watch over a disk that does not answer.
final class SpoolWaiter: Sendable {
    typealias Continuation = CheckedContinuation<Result<UInt64, SpoolError>, Never>

    let attributes: [UInt8]
    let body: [UInt8]
    private let continuation: Mutex<Continuation?>

    init(_ record: SpoolRecord, _ continuation: Continuation) {
        attributes = record.encodedAttributes()
        body = record.body
        self.continuation = Mutex(continuation)
    }

    /// On the disk.
    var size: Int { SpoolFormat.recordSize(payload: attributes.count + body.count) }

    func settle(_ result: Result<UInt64, SpoolError>) {
        continuation.withLock { $0.take() }?.resume(returning: result)
    }
}
