import CLinux
import Glibc
import Runtime
import Testing

@Suite struct EventLoopTests {
    actor Resident {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        init(loop: EventLoop) { self.loop = loop }
        func isOnLoop() -> Bool { loop.isCurrent }
        func order(of delays: [Duration]) async -> [Int] {
            await withCheckedContinuation { continuation in
                var fired: [Int] = []
                for (index, delay) in delays.enumerated() {
                    loop.schedule(after: delay) {
                        fired.append(index)
                        if fired.count == delays.count { continuation.resume(returning: fired) }
                    }
                }
            }
        }
    }

    @Test func anActorOnALoopRunsOnTheLoopsThread() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        #expect(await Resident(loop: loop).isOnLoop())
        #expect(!loop.isCurrent)
    }

    @Test func timersFireInTheOrderOfTheirDueTimes() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let order = await Resident(loop: loop).order(of: [.milliseconds(30), .milliseconds(1), .milliseconds(15)])
        #expect(order == [1, 2, 0])
    }
}

@Suite struct EventLoopEndTests {
    /// Whoever stops a loop still holds it, and must not write into a descriptor that was given to somebody else since.
    @Test func stoppingALoopTouchesNobodyElsesDescriptor() async throws {
        for _ in 0..<300 {
            let loop = try EventLoop(name: "short")
            loop.stop()
            let others = (0..<4).map { _ in eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
            loop.stop()
            await Task.yield()
            loop.stop()
            for other in others {
                var count: UInt64 = 0
                #expect(read(other, &count, 8) < 0)
                close(other)
            }
        }
    }
}
