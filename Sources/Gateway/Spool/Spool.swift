package import Runtime
internal import Synchronization

/// A durable, bounded line of records on this machine's own disk, for what the broker cannot take now.
///
/// `append` returns after the record has been synced to the disk; whoever appends meanwhile shares the next sync.
/// After a crash every record whose append returned is read back, in order. A record that was handed on shortly before a
/// crash may be read again.
package final class Spool: Service {
    package let name = "spool"

    private let core: SpoolCore
    private let loops: [EventLoop]
    private let writer: SpoolWriter
    private let reader: SpoolReader
    private let watch = Mutex<Task<Void, Never>?>(nil)

    package convenience init(settings: SpoolSettings, metrics: Metrics, log: Log) throws(SystemError) {
        try self.init(settings: settings, metrics: metrics, log: log, fault: nil)
    }

    /// With a disk that fails when a test says so.
    package init(settings: SpoolSettings, metrics: Metrics, log: Log, fault: DiskFault?) throws(SystemError) {
        let writing = try EventLoop(name: "spool-writer")
        let reading = try EventLoop(name: "spool-reader")
        core = SpoolCore(settings: settings, metrics: metrics, log: log, fault: fault)
        writer = SpoolWriter(core: core, loop: writing)
        reader = SpoolReader(core: core, loop: reading)
        loops = [writing, reading]
    }

    deinit {
        watch.withLock { $0?.cancel() }
        for loop in loops { loop.stop() }
    }

    // MARK: Service

    /// Takes the folder, finds what an earlier process left, and cuts off what it did not finish.
    package func start() async throws {
        try await reader.open()
        core.waiting.withLock { $0.isOpen = true }
        let watch = Task(name: "spool-watch") { [core] in
            while !Task.isCancelled {
                core.refuseIfStalled()
                // Cancelled: the loop ends.
                try? await Task.sleep(for: core.settings.stallLimit / 4)
            }
        }
        self.watch.withLock { $0 = watch }
    }

    /// Refuses further appends, finishes those that wait, and lets go of the folder.
    package func drain() async {
        core.waiting.withLock { $0.isOpen = false }
        await writer.finish()
        watch.withLock { $0.take() }?.cancel()
        await reader.close()
    }

    // MARK: Use

    /// Makes `record` durable and returns its sequence. When it throws, nothing may be acknowledged.
    @discardableResult
    package func append(_ record: SpoolRecord) async throws(SpoolError) -> UInt64 {
        let result = await withCheckedContinuation { continuation in
            let waiter = SpoolWaiter(record, continuation)
            let (refusal, wakeWriter) = enqueue(waiter)
            if let refusal { core.refuse([waiter], refusal) }
            if wakeWriter { writer.wake() }
        }
        return try result.get()
    }

    private func enqueue(_ waiter: SpoolWaiter) -> (refusal: SpoolError?, wakeWriter: Bool) {
        let size = waiter.size
        guard size <= core.settings.segmentBytes else { return (.tooLarge, false) }
        return core.waiting.withLock { waiting in
            guard waiting.isOpen else { return (.closed, false) }
            guard !waiting.isStalled(core.settings.stallLimit, at: .now) else { return (.stalled, false) }
            guard waiting.bytes + size <= core.settings.maxWaitingBytes else { return (.congested, false) }
            waiting.waiters.append(waiter)
            waiting.bytes += size
            defer { waiting.isWriterAwake = true }
            return (nil, !waiting.isWriterAwake)
        }
    }

    /// The sequence from which nothing has been handed on yet.
    package var cursor: UInt64 { core.catalog.withLock { $0.cursor } }

    /// How many records wait to be handed on; an upper bound while there are gaps.
    package var pending: UInt64 { core.catalog.withLock { $0.pending } }

    /// What the spool's segments take of the disk.
    package var diskBytes: Int { core.catalog.withLock { $0.allocatedBytes } }

    /// Whether an append can be expected to succeed: open, and neither full nor failing when last asked.
    package var hasRoom: Bool { core.waiting.withLock { $0.isOpen && !$0.hasFailed } }

    /// Wakes the one reader whenever there may be something to read. A new stream takes the place of the last one.
    package func arrivals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        core.arrivals.withLock { $0 = continuation }
        return stream
    }

    /// Records from `sequence` on, in order; an empty batch when there are none. Skips and reports what is damaged.
    package func read(
        from sequence: UInt64, maxCount: Int = 256, maxBytes: Int = 4 << 20
    ) async throws(SpoolError) -> SpoolBatch {
        try await reader.read(from: sequence, maxCount: maxCount, maxBytes: maxBytes)
    }

    /// Makes it known, durably, that all below `sequence` has been handed on, and frees what only held such records.
    package func advance(to sequence: UInt64) async { await reader.advance(to: sequence) }
}
