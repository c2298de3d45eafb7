internal import Glibc
internal import Runtime
internal import Synchronization

/// Makes waiting appends durable, all that wait at once: one write, one sync, then every one of them is told.
///
/// Lives on a thread of its own, which blocks in the disk's calls.
actor SpoolWriter {
    /// The segment that is being written.
    private final class Current {
        let name: SegmentName
        let file: DiskFile
        /// What lies below is on the disk.
        var end = 0

        init(name: SegmentName, file: consuming DiskFile) {
            self.name = name
            self.file = file
        }
    }

    /// Bounds how long the first of a group waits for the last.
    private static let groupBytes = 4 << 20

    private let core: SpoolCore
    private let loop: EventLoop
    private var current: Current?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(core: SpoolCore, loop: EventLoop) {
        self.core = core
        self.loop = loop
    }

    /// Asks for a commit, from any thread.
    nonisolated func wake() { loop.execute { self.assumeIsolated { $0.commitAll() } } }

    /// Commits what waits, and closes the segment.
    func finish() {
        commitAll()
        sealCurrent()
    }

    private func commitAll() {
        while true {
            let group = core.waiting.withLock { waiting in
                var bytes = 0
                var count = 0
                while count < waiting.waiters.count, bytes < Self.groupBytes {
                    bytes += waiting.waiters[count].size
                    count += 1
                }
                waiting.group = Array(waiting.waiters[..<count])
                waiting.groupStarted = count == 0 ? nil : .now
                waiting.waiters.removeFirst(count)
                waiting.bytes -= bytes
                if count == 0 { waiting.isWriterAwake = false }
                return waiting.group
            }
            if group.isEmpty { return }
            commit(group[...])
        }
    }

    private func commit(_ group: ArraySlice<SpoolWaiter>) {
        var rest = group
        while let first = rest.first {
            do throws(SpoolError) {
                try makeRoom(for: first.size)
            } catch {
                return refuse(rest, error)
            }
            var size = 0
            let room = core.settings.segmentBytes - (current?.end ?? 0)
            let part = rest.prefix { waiter in
                size += waiter.size
                return size <= room
            }
            rest = rest.dropFirst(part.count)
            write(part)
        }
        core.publishGauges()
    }

    /// Leaves `current` with room for `size` bytes, in a new segment if need be.
    private func makeRoom(for size: Int) throws(SpoolError) {
        if let end = current?.end, core.settings.segmentBytes - end >= size { return }
        sealCurrent()
        let (first, allocated) = core.catalog.withLock { ($0.next, $0.allocatedBytes) }
        guard allocated + core.settings.segmentBytes <= core.settings.maxBytes else { throw .full }
        let name = SegmentName(first: first)
        do throws(SystemError) {
            let file = try DiskFile(core.path(of: name), O_RDWR | O_CREAT | O_EXCL, fault: core.fault)
            do throws(SystemError) {
                try file.allocate(core.settings.segmentBytes)
                try SpoolFolder.synchronize(core.settings.folder)
            } catch {
                remove(name)
                throw error
            }
            current = Current(name: name, file: file)
            core.catalog.withLock { $0.open(name, allocated: core.settings.segmentBytes) }
        } catch {
            core.log.error("a spool segment could not be begun", ["error": .init(error)])
            // EFBIG is what a limit on file sizes says.
            throw [ENOSPC, EDQUOT, EFBIG].contains(error.code) ? .full : .disk(error)
        }
    }

    /// Writes and syncs records that fit into the segment, and tells who waits for them.
    private func write(_ part: ArraySlice<SpoolWaiter>) {
        let started = ContinuousClock.now
        let first = core.catalog.withLock { $0.take(part.count) }
        guard let current else { return refuse(part, .closed) }
        let (name, offset) = (current.name, current.end)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(part.reduce(0) { $0 + $1.size })
        for (index, waiter) in part.enumerated() {
            SpoolFormat.encode(
                waiter.body, attributes: waiter.attributes, sequence: first + UInt64(index), salt: name.salt, to: &bytes
            )
        }
        do throws(SystemError) {
            try current.file.write(bytes, at: offset)
            try current.file.synchronize()
        } catch {
            // The kernel may have dropped the pages and forgotten the error: this file takes no more.
            core.log.error(
                "a spool segment failed and is closed", ["segment": .init(name.fileName), "error": .init(error)])
            sealCurrent()
            return refuse(part, [ENOSPC, EDQUOT, EFBIG].contains(error.code) ? .full : .disk(error))
        }
        current.end = offset + bytes.count
        core.catalog.withLock { $0.extend(name, to: offset + bytes.count) }
        core.metrics.commitSeconds.record(.now - started)
        core.waiting.withLock { $0.hasFailed = false }
        core.metrics.appended.increment(by: UInt64(part.count))
        for (index, waiter) in part.enumerated() {
            waiter.settle(.success(first + UInt64(index)))
        }
        core.announce()
    }

    private func refuse(_ waiters: ArraySlice<SpoolWaiter>, _ error: SpoolError) {
        core.waiting.withLock { $0.hasFailed = true }
        core.refuse(waiters, error)
    }

    /// Cuts the segment where it is known to be good; an empty one goes.
    private func sealCurrent() {
        guard let (name, end) = current.map({ ($0.name, $0.end) }) else { return }
        if end > 0 {
            do throws(SystemError) { try current?.file.truncate(to: end) } catch {
                core.log.warning(
                    "a spool segment could not be cut", ["segment": .init(name.fileName), "error": .init(error)])
            }
        }
        current = nil
        core.catalog.withLock { $0.seal(name) }
        if end == 0 { remove(name) }
        core.announce()
    }

    private func remove(_ name: SegmentName) {
        if unsafe unlink(core.path(of: name)) != 0 {
            let error = SystemError(call: "unlink")
            core.log.warning(
                "a spool segment could not be removed", ["segment": .init(name.fileName), "error": .init(error)])
        }
    }
}
