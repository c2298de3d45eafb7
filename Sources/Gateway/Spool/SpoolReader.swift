internal import Glibc
internal import Runtime
internal import Synchronization

/// Records in order, and the sequence at which reading goes on behind them, gaps included.
package struct SpoolBatch: Sendable {
    package let entries: [SpoolEntry]
    package let end: UInt64
}

/// Opens the folder, reads records back and writes off what has been handed on.
///
/// Lives on a thread of its own, so that a cold read from the disk does not hold up the writer.
actor SpoolReader {
    private struct Position: ~Copyable {
        let name: SegmentName
        var scan: SegmentScan
        /// Where reading goes on.
        var next: UInt64
    }

    /// What is set aside may not fill the disk: this many places, at most so large each.
    private static let damagedFiles = 64
    private static let damagedBytes = 4 << 20

    private let core: SpoolCore
    private let loop: EventLoop
    private var folder: SpoolFolder?
    private var cursorFile: SpoolCursorFile?
    private var position: Position?
    private var filesSetAside = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(core: SpoolCore, loop: EventLoop) {
        self.core = core
        self.loop = loop
    }

    // MARK: Opening

    func open() throws(SpoolError) {
        let folder = try SpoolFolder(core.settings.folder)
        do throws(SystemError) {
            let cursorFile = try SpoolCursorFile(folder: folder.path)
            let catalog = try catalog(of: folder, cursor: cursorFile.found)
            core.catalog.withLock { $0 = catalog }
            self.cursorFile = consume cursorFile
            self.folder = consume folder
        } catch {
            throw .disk(error)
        }
        let drained = core.catalog.withLock { $0.advance(to: $0.cursor) }
        remove(drained)
        core.publishGauges()
        let (pending, segments) = core.catalog.withLock { ($0.pending, $0.segments.count) }
        core.log.info("spool opened", ["pending": .init(pending), "segments": .init(segments)])
    }

    private func catalog(of folder: borrowing SpoolFolder, cursor: UInt64) throws(SystemError) -> SpoolCatalog {
        let names = try folder.segments()
        var segments: [SpoolCatalog.Segment] = []
        var next: UInt64 = 1
        for name in names {
            next = max(next, name.first)
            if name == names.last {
                guard let last = try cutTail(name, &next) else { continue }
                segments.append(last)
            } else {
                let size = try DiskFile(core.path(of: name), O_RDONLY).size
                segments.append(.init(name: name, end: size, allocated: size, sealed: true))
            }
        }
        return SpoolCatalog(segments: segments, cursor: cursor, next: next)
    }

    /// Ends the segment that was written last behind its last sound record; one without any is removed.
    private func cutTail(_ name: SegmentName, _ next: inout UInt64) throws(SystemError) -> SpoolCatalog.Segment? {
        let file = try DiskFile(core.path(of: name), O_RDWR)
        let size = try file.size
        var scan = try SegmentScan(folder: core.settings.folder, name: name)
        var end = 0
        walk: while true {
            switch try scan.next(end: size) {
            case .record(let entry):
                next = entry.sequence &+ 1
                end = scan.offset
            case .damaged: continue
            case .end(let torn):
                if torn > 0 {
                    core.metrics.torn.increment()
                    core.log.warning(
                        "an unfinished write was cut off; nothing of it was acknowledged",
                        ["segment": .init(name.fileName), "offset": .init(scan.offset), "bytes": .init(torn)])
                    setAside(scan.offset..<scan.offset + torn, of: name)
                }
                break walk
            }
        }
        if end == 0 {
            remove([name])
            return nil
        }
        if end < size { try file.truncate(to: end) }
        return .init(name: name, end: end, allocated: end, sealed: true)
    }

    // MARK: Reading

    /// Records from `sequence` on, in order; empty when there are none yet.
    func read(from sequence: UInt64, maxCount: Int, maxBytes: Int) throws(SpoolError) -> SpoolBatch {
        guard folder != nil else { throw .closed }
        var entries: [SpoolEntry] = []
        var bytes = 0
        var end = sequence
        do throws(SystemError) {
            try seek(sequence)
            if position == nil { end = core.catalog.withLock { $0.deadEnd(behind: nil) } ?? end }
            while entries.count < maxCount, bytes < maxBytes, let name = position?.name {
                guard let segment = core.catalog.withLock({ $0.segment(name) }) else {
                    // Drained and removed meanwhile.
                    position = nil
                    break
                }
                switch try position?.scan.next(end: segment.end) {
                case .record(let entry):
                    position?.next = entry.sequence &+ 1
                    guard entry.sequence >= sequence else { continue }
                    entries.append(entry)
                    bytes += entry.record.body.count
                    end = entry.sequence &+ 1
                case .damaged(let range):
                    report(range, of: name)
                case .end(let torn):
                    // What was not sealed has more to come.
                    guard segment.sealed else { return SpoolBatch(entries: entries, end: end) }
                    if torn > 0, let offset = position?.scan.offset {
                        report(offset..<offset + torn, of: name)
                        position?.scan.skip(torn)
                    }
                    if try proceed(from: name) { continue }
                    end = max(end, core.catalog.withLock { $0.deadEnd(behind: name) } ?? end)
                    return SpoolBatch(entries: entries, end: end)
                case nil:
                    break
                }
            }
        } catch {
            position = nil
            throw .disk(error)
        }
        return SpoolBatch(entries: entries, end: end)
    }

    private func seek(_ sequence: UInt64) throws(SystemError) {
        if let next = position?.next, next == sequence { return }
        position = nil
        guard let segment = core.catalog.withLock({ $0.segment(for: sequence) }) else { return }
        position = Position(
            name: segment.name, scan: try SegmentScan(folder: core.settings.folder, name: segment.name),
            next: sequence)
    }

    /// Goes on to the next segment, if there is one.
    private func proceed(from name: SegmentName) throws(SystemError) -> Bool {
        guard let following = core.catalog.withLock({ $0.segment(after: name) }) else { return false }
        position = Position(
            name: following.name, scan: try SegmentScan(folder: core.settings.folder, name: following.name),
            next: position?.next ?? following.name.first)
        return true
    }

    private func report(_ range: Range<Int>, of name: SegmentName) {
        core.metrics.damaged.increment()
        core.log.error(
            "a damaged place in the spool was skipped",
            ["segment": .init(name.fileName), "offset": .init(range.lowerBound), "bytes": .init(range.count)])
        setAside(range, of: name)
    }

    /// Copies what could not be read as records to the folder `damaged`, for whoever wants to know what it was.
    private func setAside(_ range: Range<Int>, of name: SegmentName) {
        guard filesSetAside < Self.damagedFiles else { return }
        filesSetAside += 1
        let folder = "\(core.settings.folder)/damaged"
        do throws(SystemError) {
            try SpoolFolder.makeFolder(folder)
            let segment = try DiskFile(core.path(of: name), O_RDONLY)
            let copy = try DiskFile("\(folder)/\(name.fileName)-\(range.lowerBound)", O_WRONLY | O_CREAT | O_TRUNC)
            try copy.write(segment.read(min(range.count, Self.damagedBytes), at: range.lowerBound), at: 0)
        } catch {
            core.log.error("a damaged place in the spool could not be copied", ["error": .init(error)])
        }
    }

    // MARK: Writing off

    /// Makes it known that all below `sequence` is with the broker.
    func advance(to sequence: UInt64) {
        let (cursor, drained) = core.catalog.withLock { catalog in
            let drained = catalog.advance(to: sequence)
            return (catalog.cursor, drained)
        }
        do throws(SystemError) { try cursorFile?.write(cursor) } catch {
            core.metrics.cursorFailures.increment()
            core.log.error("the spool's read position could not be written", ["error": .init(error)])
        }
        remove(drained)
        if !drained.isEmpty { core.waiting.withLock { $0.hasFailed = false } }
        core.publishGauges()
    }

    private func remove(_ names: [SegmentName]) {
        for name in names where unsafe unlink(core.path(of: name)) != 0 {
            let error = SystemError(call: "unlink")
            core.metrics.cursorFailures.increment()
            core.log.error(
                "a drained spool segment could not be removed",
                ["segment": .init(name.fileName), "error": .init(error)])
        }
    }

    /// Lets go of the folder.
    func close() {
        position = nil
        cursorFile = nil
        folder = nil
    }
}
