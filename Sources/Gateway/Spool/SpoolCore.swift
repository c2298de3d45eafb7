internal import Runtime
internal import Synchronization

/// What the writing and the reading side of a spool share.
final class SpoolCore: Sendable {
    struct Waiter {
        let attributes: [UInt8]
        let body: [UInt8]
        let continuation: CheckedContinuation<Result<UInt64, SpoolError>, Never>

        var size: Int { SpoolFormat.recordSize(payload: attributes.count + body.count) }
    }

    /// Appends that wait for the disk.
    struct Waiting {
        var waiters: [Waiter] = []
        var bytes = 0
        /// The writer has been told and will come back until none is left.
        var isWriterAwake = false
        var isOpen = false
        /// The last group was refused by the disk, or by the limit of bytes.
        var hasFailed = false
    }

    let settings: SpoolSettings
    let metrics: SpoolMetrics
    let log: Log
    let fault: DiskFault?
    let waiting = Mutex(Waiting())
    let catalog = Mutex(SpoolCatalog())
    let arrivals = Mutex<AsyncStream<Void>.Continuation?>(nil)

    init(settings: SpoolSettings, metrics: Metrics, log: Log, fault: DiskFault?) {
        self.settings = settings
        self.metrics = SpoolMetrics(metrics)
        self.log = log
        self.fault = fault
    }

    func path(of name: SegmentName) -> String { "\(settings.folder)/\(name.fileName)" }

    /// Wakes whoever reads.
    func announce() { arrivals.withLock { _ = $0?.yield() } }

    func publishGauges() {
        let (pending, bytes) = catalog.withLock { ($0.pending, $0.allocatedBytes) }
        metrics.pending.set(Double(pending))
        metrics.bytes.set(Double(bytes))
    }
}
