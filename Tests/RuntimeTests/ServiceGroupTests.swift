import Runtime
import Synchronization
import Testing

@Suite struct ServiceGroupTests {
    final class Diary: Sendable {
        private let lines = Mutex<[String]>([])
        func note(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    struct Part: Service {
        struct Broken: Error {}
        let name: String
        let diary: Diary
        var fails = false
        var drainsForever = false
        func start() async throws {
            diary.note("start \(name)")
            if fails { throw Broken() }
        }
        func drain() async {
            diary.note("drain \(name)")
            if drainsForever {
                // Deaf to cancellation too.
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
        func reload() async { diary.note("reload \(name)") }
    }

    private func signals(_ signals: ProcessSignal...) -> AsyncStream<ProcessSignal> {
        AsyncStream { continuation in for signal in signals { continuation.yield(signal) } }
    }

    @Test func servicesStartInOrderReloadAndDrainInReverse() async throws {
        let diary = Diary()
        let group = ServiceGroup([Part(name: "a", diary: diary), Part(name: "b", diary: diary)], log: .discarding)
        try await group.run(until: signals(.reload, .terminate)) { diary.note("ready") }
        #expect(diary.all == ["start a", "start b", "ready", "reload a", "reload b", "drain b", "drain a"])
    }

    @Test func aServiceThatDoesNotStartDrainsThoseBeforeIt() async {
        let diary = Diary()
        let parts = [
            Part(name: "a", diary: diary), Part(name: "b", diary: diary, fails: true), Part(name: "c", diary: diary),
        ]
        await #expect(throws: Part.Broken.self) {
            try await ServiceGroup(parts, log: .discarding).run(until: signals())
        }
        #expect(diary.all == ["start a", "start b", "drain b", "drain a"])
    }

    @Test func aDrainThatDoesNotEndIsGivenUpAtTheDeadlineAndNamed() async {
        let diary = Diary()
        let parts = [Part(name: "a", diary: diary), Part(name: "b", diary: diary, drainsForever: true)]
        let group = ServiceGroup(parts, drainDeadline: .milliseconds(50), log: .discarding)
        let error = await #expect(throws: ServiceGroup.Failure.self) { try await group.run(until: signals(.terminate)) }
        guard case .drainDeadlineExceeded(let names)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(names == ["a", "b"])
    }

    @Test func aSecondSignalStopsAtOnce() async {
        let part = Part(name: "a", diary: Diary(), drainsForever: true)
        let group = ServiceGroup([part], drainDeadline: .seconds(600), echo: .zero, log: .discarding)
        let error = await #expect(throws: ServiceGroup.Failure.self) {
            try await group.run(until: signals(.terminate, .terminate))
        }
        if case .interrupted? = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func aSignalThatComesTwiceAtOnceIsOneSignal() async {
        let part = Part(name: "a", diary: Diary(), drainsForever: true)
        let group = ServiceGroup([part], drainDeadline: .milliseconds(50), echo: .seconds(600), log: .discarding)
        let error = await #expect(throws: ServiceGroup.Failure.self) {
            try await group.run(until: signals(.terminate, .terminate))
        }
        if case .drainDeadlineExceeded? = error {} else { Issue.record("\(String(describing: error))") }
    }
}
