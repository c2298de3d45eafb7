internal import Glibc
internal import Runtime

/// Walks through one segment, record by record, and over what is damaged.
struct SegmentScan: ~Copyable {
    enum Step {
        case record(SpoolEntry)
        /// Bytes that hold no record, with a sound record behind them.
        case damaged(Range<Int>)
        /// No sound record follows. `torn` bytes behind the last one are not zero: a write that did not come to its end.
        case end(torn: Int)
    }

    private let file: DiskFile
    private let name: SegmentName
    /// Where the next step starts.
    private(set) var offset: Int
    private var lastSequence: UInt64?
    private var window: [UInt8] = []
    private var windowStart = 0
    /// Pages that the disk would not give back; they were read as zeros.
    private(set) var unreadablePages = 0

    private static let readAhead = 1 << 20
    private static let page = 4096

    init(folder: String, name: SegmentName, from offset: Int = 0) throws(SystemError) {
        file = try DiskFile("\(folder)/\(name.fileName)", O_RDONLY)
        self.name = name
        self.offset = offset
    }

    /// The next step below `end`, which is as far as the file can be trusted.
    mutating func next(end: Int) throws(SystemError) -> Step {
        if let (entry, size) = try entry(at: offset, end: end) {
            offset += size
            lastSequence = entry.sequence
            return .record(entry)
        }
        var page = offset
        var lastNonZero = offset
        while page < end {
            let bytes = try bytes(at: page, count: Self.page, end: end)
            if bytes.isEmpty { break }
            defer { page += bytes.count }
            if bytes.isZero { continue }
            lastNonZero = page + bytes.count
            for step in stride(from: 0, to: bytes.count, by: SpoolFormat.alignment) {
                let candidate = page + step
                guard candidate > offset, bytes.count - step >= SpoolFormat.alignment,
                    bytes.littleEndian(UInt32.self, at: step) == SpoolFormat.magic,
                    try entry(at: candidate, end: end) != nil
                else { continue }
                defer { offset = candidate }
                return .damaged(offset..<candidate)
            }
        }
        return .end(torn: lastNonZero - offset)
    }

    /// Leaves out bytes that were reported.
    mutating func skip(_ count: Int) { offset += count }

    private mutating func entry(at offset: Int, end: Int) throws(SystemError) -> (SpoolEntry, size: Int)? {
        let head = try bytes(at: offset, count: SpoolFormat.headerSize, end: end)
        guard let header = SpoolFormat.header(decoding: head, salt: name.salt), header.recordSize <= end - offset,
            header.sequence >= name.first, lastSequence.map({ header.sequence > $0 }) ?? true
        else { return nil }
        let whole = try bytes(at: offset, count: header.recordSize, end: end)
        return SpoolFormat.entry(header, decoding: whole, salt: name.salt).map { ($0, header.recordSize) }
    }

    /// Up to `count` bytes, fewer before `end`, from the window; moves the window when they are not in it.
    private mutating func bytes(at offset: Int, count: Int, end: Int) throws(SystemError) -> ArraySlice<UInt8> {
        let wanted = min(count, max(0, end - offset))
        if offset < windowStart || offset + wanted > windowStart + window.count {
            window = try load(max(wanted, min(Self.readAhead, end - offset)), at: offset)
            windowStart = offset
        }
        let start = offset - windowStart
        return window[start..<min(window.count, start + wanted)]
    }

    private mutating func load(_ count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        do {
            return try file.read(count, at: offset)
        } catch  where error.code == EIO {
            var bytes: [UInt8] = []
            while bytes.count < count {
                let size = min(Self.page - (offset + bytes.count) % Self.page, count - bytes.count)
                do {
                    let part = try file.read(size, at: offset + bytes.count)
                    if part.isEmpty { break }
                    bytes += part
                } catch {
                    unreadablePages += 1
                    bytes += [UInt8](repeating: 0, count: size)
                }
            }
            return bytes
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate var isZero: Bool {
        unsafe withUnsafeBytes { bytes in
            var offset = 0
            while bytes.count - offset >= 8 {
                if unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) != 0 { return false }
                offset += 8
            }
            return unsafe bytes[offset...].allSatisfy { $0 == 0 }
        }
    }
}
