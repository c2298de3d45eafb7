internal import Glibc

/// How many files and connections this process may have open.
package enum OpenFiles {
    /// Raises the limit to what the system allows this process, and returns it. The usual 1024 is a courtesy to programs
    /// that call `select`, and nobody here does.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(files, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if unsafe setrlimit(files, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
