internal import Glibc
internal import Runtime

/// The calls on whose success an acknowledgement rests.
package enum DiskCall: Sendable { case allocate, write, synchronize }

/// Tests make a call fail with the error number that this answers; nil lets it happen.
package typealias DiskFault = @Sendable (DiskCall) -> Int32?

/// Owns one open file; the end of its life closes it.
struct DiskFile: ~Copyable {
    let descriptor: Int32
    private let fault: DiskFault?

    init(_ path: String, _ flags: Int32, fault: DiskFault? = nil) throws(SystemError) {
        descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open \(path)") }
        self.fault = fault
    }

    deinit { close(descriptor) }

    /// Reserves room, so that later writes neither fail for want of it nor change the file's size.
    func allocate(_ size: Int) throws(SystemError) {
        let status = fault?(.allocate) ?? posix_fallocate(descriptor, 0, size)
        guard status == 0 else { throw SystemError(call: "posix_fallocate", code: status) }
    }

    func write(_ bytes: borrowing [UInt8], at offset: Int) throws(SystemError) {
        let failure: Int32? =
            unsafe fault?(.write)
            ?? bytes.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let count = unsafe pwrite(
                        descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, offset + done)
                    if count > 0 {
                        done += count
                    } else if count == 0 || errno != EINTR {
                        return count == 0 ? EIO : errno
                    }
                }
                return nil
            }
        if let failure { throw SystemError(call: "pwrite", code: failure) }
    }

    func synchronize() throws(SystemError) {
        // Not tried again, whatever the reason: after a failure the kernel may have dropped the pages.
        if let code = fault?(.synchronize) { throw SystemError(call: "fdatasync", code: code) }
        guard fdatasync(descriptor) == 0 else { throw SystemError(call: "fdatasync") }
    }

    func truncate(to size: Int) throws(SystemError) {
        guard ftruncate(descriptor, size) == 0 else { throw SystemError(call: "ftruncate") }
        guard fsync(descriptor) == 0 else { throw SystemError(call: "fsync") }
    }

    var size: Int {
        get throws(SystemError) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError(call: "fstat") }
            return status.st_size
        }
    }

    /// Up to `count` bytes at `offset`; fewer at the end of the file.
    func read(_ count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, filled in
            filled = 0
            while filled < buffer.count {
                let got = unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled, offset + filled)
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    return
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        guard failure == 0 else { throw SystemError(call: "pread", code: failure) }
        return bytes
    }
}
