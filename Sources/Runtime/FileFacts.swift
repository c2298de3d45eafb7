internal import CLinux
internal import Glibc

/// What the system says of a file or a folder.
package struct FileFacts: Sendable, Hashable {
    package let isFolder: Bool
    /// What it is if it is no regular file, with its article.
    package let otherKind: String?
    /// The permission bits, such as 0o640.
    package let permissions: UInt32
    package let owner: UInt32

    package init(of path: String) throws(SystemError) {
        var (mode, owner): (UInt32, UInt32) = (0, 0)
        guard unsafe holdfast_stat(path, &mode, &owner) == 0 else { throw SystemError(call: "stat \(path)") }
        isFolder = mode & S_IFMT == S_IFDIR
        otherKind =
            switch mode & S_IFMT {
            case S_IFREG: nil
            case S_IFDIR: "a folder"
            case S_IFIFO: "a named pipe"
            case S_IFSOCK: "a socket"
            case S_IFCHR, S_IFBLK: "a device"
            default: "something else"
            }
        permissions = mode & 0o7777
        self.owner = owner
    }

    /// Whether somebody can read it who is neither its owner nor in its group.
    package var isReadableByEverybody: Bool { permissions & 0o004 != 0 }

    /// Whether this process may write to the path.
    package static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }
}

/// The file system that a path lies on.
package struct FileSystemFacts: Sendable, Hashable {
    /// Bytes that may still be written.
    package let available: UInt64
    package let total: UInt64
    /// The system's name if it is one that does not keep what was synced: in memory, or on another machine.
    package let unsafeKind: String?

    package init(of path: String) throws(SystemError) {
        var (available, total, kind): (UInt64, UInt64, UInt64) = (0, 0, 0)
        guard unsafe holdfast_statfs(path, &available, &total, &kind) == 0 else {
            throw SystemError(call: "statfs \(path)")
        }
        self.available = available
        self.total = total
        unsafeKind = Self.kinds[kind & 0xFFFF_FFFF]
    }

    /// From linux/magic.h.
    private static let kinds: [UInt64: String] = [
        0x0102_1994: "tmpfs", 0x8584_58F6: "ramfs", 0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2",
    ]
}

/// What the kernel says of this machine.
package enum Machine {
    /// Whether somebody (NTP) keeps the kernel's clock right.
    package static var clockIsSynchronized: Bool { holdfast_clock_is_synchronized() != 0 }

    /// A number in a file such as `/proc/sys/net/core/somaxconn`.
    package static func number(in path: String) -> Int? {
        guard let text = try? File.text(at: path, limit: 4096) else { return nil }
        return Int(text.prefix { $0.isASCII && $0.isNumber })
    }

    /// A line of `/proc/meminfo`, in bytes.
    package static func memory(_ name: String) -> Int? {
        guard let text = try? File.text(at: "/proc/meminfo", limit: 65_536) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("\(name):") {
            return Int(line.filter { $0.isASCII && $0.isNumber }).map { $0 << 10 }
        }
        return nil
    }
}
