internal import CLinux
internal import Glibc

/// A failed system call: which one, and why.
package struct SystemError: Error, Sendable, CustomStringConvertible {
    package let call: String
    /// The C `errno`.
    package let code: Int32
    /// Says more than the code does.
    private let reason: String?

    /// Takes `errno` as the call just left it.
    package init(call: String) { self.init(call: call, code: errno) }

    package init(call: String, code: Int32, reason: String? = nil) {
        self.call = call
        self.code = code
        self.reason = reason
    }

    package var isNoSuchFile: Bool { code == ENOENT }

    package var description: String { unsafe "\(call): \(reason ?? String(cString: strerror(code)))" }
}
