internal import Runtime
internal import Synchronization

/// What the writing and the reading side of a spool share.
final class SpoolCore: Sendable {
    /// Appends that wait for the disk.
    struct Waiting {
        var waiters: [SpoolWaiter] = []
        var bytes = 0
        /// What the writer has in hand, and since when.
        var group: [SpoolWaiter] = []
        var groupStarted: ContinuousClock.Instant?
        /// The writer has been told and will come back until none is left.
        var isWriterAwake = false
        var isOpen = false
        /// The last group was refused by the disk, or by the limit of bytes.
        var hasFailed = false

        func isStalled(_ limit: Duration, at now: ContinuousClock.Instant) -> Bool {
            groupStarted.map { now - $0 > limit } ?? false
        }
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

    /// Tells everybody who waits for a disk that does not answer. Should it answer later, their records are there twice
    /// in the end, once by whoever sent again; that is harmless.
    func refuseIfStalled() {
        let refused = waiting.withLock { waiting -> [SpoolWaiter] in
            guard waiting.isStalled(settings.stallLimit, at: .now) else { return [] }
            defer {
                waiting.group = []
                waiting.waiters = []
                waiting.bytes = 0
                waiting.hasFailed = true
            }
            return waiting.group + waiting.waiters
        }
        guard !refused.isEmpty else { return }
        log.error("the spool's disk does not answer", ["records": .init(refused.count)])
        refuse(refused[...], .stalled)
    }

    func refuse(_ waiters: ArraySlice<SpoolWaiter>, _ error: SpoolError) {
        metrics.failed(error).increment(by: UInt64(waiters.count))
        for waiter in waiters { waiter.settle(.failure(error)) }
    }

    /// Wakes whoever reads.
    func announce() { arrivals.withLock { _ = $0?.yield() } }

    func publishGauges() {
        let (pending, bytes) = catalog.withLock { ($0.pending, $0.allocatedBytes) }
        metrics.pending.set(Double(pending))
        metrics.bytes.set(Double(bytes))
    }
}
