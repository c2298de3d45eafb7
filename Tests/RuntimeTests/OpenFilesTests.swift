import Glibc
import Runtime
import Testing

@Suite struct OpenFilesTests {
    @Test func theLimitOfOpenFilesIsRaisedToWhatTheSystemAllows() throws {
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        try #require(unsafe getrlimit(files, &limit) == 0)
        let allowed = limit.rlim_max
        // One less hurts no other test that runs meanwhile.
        limit.rlim_cur = allowed - 1
        try #require(unsafe setrlimit(files, &limit) == 0)

        let raised = OpenFiles.raiseLimit()

        #expect(raised == Int(clamping: allowed))
        try #require(unsafe getrlimit(files, &limit) == 0)
        #expect(limit.rlim_cur == allowed)
    }
}
