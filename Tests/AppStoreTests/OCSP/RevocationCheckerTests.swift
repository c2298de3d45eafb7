import AppStore
import HTTP
import JSON
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

@Suite("Asking responders no more than needed", .timeLimit(.minutes(6))) struct RevocationCheckerTests {
    @Test("Pitfall 8: any number of payloads of one chain cost one question a certificate")
    func anyNumberOfPayloadsCostOneQuestionACertificate() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker()
        for _ in 0..<50 { #expect(await checker.verdict(responder.chain) == nil) }
        #expect(responder.asked.count == 2)
        #expect(checker.cachedCertificateCount == 2)
    }

    @Test("Pitfall 8: however many wait for a certificate, it is asked about once")
    func howeverManyWaitItIsAskedAboutOnce() async throws {
        let responder = try ScriptedResponder()
        let gate = Gate()
        responder.script { [unowned responder] asked in
            await gate.wait()
            return try responder.signed(responder.good(asked), asked)
        }
        let checker = responder.checker()
        let begun = responder.metrics.counter("begun", "")
        await withTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    begun.increment()
                    let failure = await checker.verdict(responder.chain)
                    check(failure == nil)
                }
            }
            group.addTask {
                let hasBegun = try? await eventually { begun.value == 40 && gate.waiting >= 2 }
                check(hasBegun == true)
                gate.open()
            }
        }
        #expect(responder.asked.count == 2)
    }

    @Test("Pitfall 8: a dead responder is asked again only after a while")
    func aDeadResponderIsAskedAgainOnlyAfterAWhile() async throws {
        let responder = try ScriptedResponder { _ in throw HTTPClientError(.unreachable, "nobody there") }
        let checker = responder.checker { $0.retryAfter = .seconds(30) }
        for _ in 0..<20 { #expect(await checker.verdict(responder.chain)?.code == .revocationUnknown) }
        #expect(responder.asked.count == 2)
        responder.advance(by: .seconds(29))
        _ = await checker.verdict(responder.chain)
        #expect(responder.asked.count == 2)
        responder.advance(by: .seconds(2))
        responder.script { [unowned responder] asked in try responder.signed(responder.good(asked), asked) }
        #expect(await checker.verdict(responder.chain) == nil)
        #expect(responder.asked.count == 4)
    }

    @Test func anAnswerIsAskedForAgainWhenItIsOldAndWhenItEnds() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker { $0.maximumAge = .seconds(600) }
        _ = await checker.verdict(responder.chain)
        responder.advance(by: .seconds(599))
        _ = await checker.verdict(responder.chain)
        #expect(responder.asked.count == 2)
        responder.advance(by: .seconds(2))
        _ = await checker.verdict(responder.chain)
        #expect(responder.asked.count == 4)
        // The answers of this responder end after an hour, whatever the settings allow.
        let patient = responder.checker { $0.maximumAge = .seconds(86_400) }
        _ = await patient.verdict(responder.chain)
        responder.advance(by: .seconds(3659))
        _ = await patient.verdict(responder.chain)
        #expect(responder.asked.count == 6)
        responder.advance(by: .seconds(2))
        _ = await patient.verdict(responder.chain)
        #expect(responder.asked.count == 8)
    }

    @Test("Pitfall 7: an answer that is still good counts on when its responder has gone, and no longer than that")
    func anAnswerCountsOnWhenItsResponderHasGone() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker { $0.maximumAge = .seconds(60) }
        #expect(await checker.verdict(responder.chain) == nil)
        responder.script { _ in throw HTTPClientError(.unreachable, "nobody there") }
        responder.advance(by: .seconds(61))
        for _ in 0..<3 { #expect(await checker.verdict(responder.chain) == nil) }
        #expect(responder.asked.count == 4)
        responder.advance(by: .seconds(3600))
        #expect(await checker.verdict(responder.chain)?.code == .revocationUnknown)
    }

    @Test func aRevokedCertificateStaysRevokedWhenItsResponderHasGone() async throws {
        let responder = try ScriptedResponder { response, _, _ in
            response.answers[0].status = .revoked(at: Forge.now, reason: 1)
        }
        let checker = responder.checker(.soft) { $0.maximumAge = .seconds(60) }
        #expect(await checker.verdict(responder.chain)?.code == .revoked)
        responder.script { _ in throw HTTPClientError(.unreachable, "nobody there") }
        responder.advance(by: .seconds(61))
        #expect(await checker.verdict(responder.chain)?.code == .revoked)
    }

    @Test func aRevocationIsNoticedWhenTheAnswerIsAskedForAgain() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker { $0.maximumAge = .seconds(60) }
        #expect(await checker.verdict(responder.chain) == nil)
        responder.script { [unowned responder] asked in
            try responder.signed(responder.good(asked, .revoked(at: Forge.now, reason: nil)), asked)
        }
        #expect(await checker.verdict(responder.chain) == nil)
        responder.advance(by: .seconds(61))
        #expect(await checker.verdict(responder.chain)?.code == .revoked)
    }

    @Test func whatIsKeptIsBounded() async throws {
        let checker: RevocationChecker
        let responder = try ScriptedResponder { _ in ScriptedResponder.response([], status: 500) }
        checker = responder.checker { $0.certificates = 4 }
        for _ in 0..<5 { _ = await checker.statuses(of: try ScriptedResponder().chain) }
        #expect(responder.asked.count == 10)
        #expect(checker.cachedCertificateCount == 4)
    }

    @Test func whoStopsWaitingDoesNotSpoilItForOthers() async throws {
        let responder = try ScriptedResponder()
        let gate = Gate()
        responder.script { [unowned responder] asked in
            await gate.wait()
            try Task.checkCancellation()
            return try responder.signed(responder.good(asked), asked)
        }
        let checker = responder.checker()
        let first = Task { await checker.verdict(responder.chain) }
        check(try await eventually { gate.waiting == 2 })
        first.cancel()
        let second = Task { await checker.verdict(responder.chain) }
        gate.open()
        #expect(await second.value == nil)
        _ = await first.value
        #expect(responder.asked.count == 2)
    }

    @Test func failuresAreLoggedOnceInAWhileAndVerdictsEachTime() async throws {
        let responder = try ScriptedResponder { _ in throw HTTPClientError(.unreachable, "nobody there") }
        let lines = LogLines()
        let checker = responder.checker(.soft, log: Log(part: "test", sink: lines.sink))
        for _ in 0..<10 {
            _ = await checker.verdict(responder.chain)
            responder.advance(by: .seconds(31))
        }
        check(lines.all.map { $0["level"]?.string } == ["warning"])
        responder.advance(by: .seconds(600))
        _ = await checker.verdict(responder.chain)
        #expect(lines.all.count == 2)
        #expect(lines.all.last?["silencedSinceTheLastLine"]?.int64 == 19)
        responder.script { [unowned responder] asked in
            try responder.signed(responder.good(asked, .revoked(at: Forge.now, reason: 1)), asked)
        }
        responder.advance(by: .seconds(31))
        _ = await checker.verdict(responder.chain)
        check(lines.all.suffix(2).allSatisfy { $0["event"]?.string == "certificate is revoked" })
    }

    @Test func questionsAndAnswersAreCounted() async throws {
        let responder = try ScriptedResponder()
        let checker = responder.checker()
        for _ in 0..<3 { _ = await checker.verdict(responder.chain) }
        let text = responder.metrics.exposition()
        #expect(text.contains(#"holdfast_ocsp_requests_total{result="good"} 2"#))
        #expect(text.contains(#"holdfast_ocsp_checks_total{result="good"} 6"#))
        #expect(text.contains("holdfast_ocsp_request_seconds_count 2"))
        #expect(text.contains("holdfast_ocsp_answer_age_seconds_count 4"))
    }
}

/// Lets through once opened; counts who waits.
final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    var waiting: Int { state.withLock { $0.waiting.count } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Collects log lines.
final class LogLines: Sendable {
    private let bytes = Mutex<[[UInt8]]>([])
    var sink: Log.Sink { { line in self.bytes.withLock { $0.append(line) } } }
    var all: [JSONValue] { bytes.withLock { $0 }.compactMap { try? JSONValue.parse($0) } }
}
