import AppStore
import Entitlements
import HTTP
import Runtime
import TestSupport
import Testing
import Time

/// What goes wrong, told apart.
@Suite(.timeLimit(.minutes(6))) struct FailureTests {
    private func failure(
        environment: StoreEnvironment = .production, _ action: ScriptedServer.Action
    ) async throws -> ServerAPIFailure {
        var found: ServerAPIFailure?
        try await Stage.with(environment: environment, answering: { _ in action }) { stage in
            found = await stage.failure { () async throws(ServerAPIFailure) in
                try await stage.client.transaction("1", .support)
            }
        }
        return try #require(found)
    }

    @Test(arguments: ServerAPIErrorCode.names.keys.sorted())
    func everyErrorOfApplesHasItsNameAndSaysWhetherItPasses(_ code: Int64) async throws {
        let failure = try await failure(
            answer(Int(code / 10_000), #"{"errorCode":\#(code),"errorMessage":"Apple's sentence."}"#))
        #expect(failure.code == code)
        #expect(failure.status == Int(code / 10_000))
        #expect(failure.name == ServerAPIErrorCode.names[code])
        #expect(failure.message == "Apple's sentence.")
        let passing: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_000, 5_000_001]
        #expect(failure.isRetryable == passing.contains(code))
        #expect((failure.retryAfter != nil) == (code == 4_290_000))
        #expect(failure.description.contains("\(code) \(failure.name ?? "")"))
    }

    @Test func theTableHasAll92Errors() {
        #expect(ServerAPIErrorCode.names.count == 92)
        #expect(ServerAPIErrorCode.name(4_040_010) == "TransactionIdNotFound")
        #expect(ServerAPIErrorCode.name(4_040_022) == "GroupNotFound")
    }

    @Test(arguments: [
        ("apiException", 500, 5_000_000), ("apiTooManyRequestsException", 429, 4_290_000),
        ("appTransactionDoesNotExistError", 404, 4_040_019), ("familyTransactionNotSupportedError", 400, 4_000_185),
        ("invalidAppAccountTokenUUIDError", 400, 4_000_183), ("invalidTransactionIdError", 400, 4_000_006),
        ("transactionIdNotFoundError", 404, 4_040_010), ("transactionIdNotOriginalTransactionId", 400, 4_000_187),
    ])
    func applesSampleErrorsAreRead(_ name: String, _ status: Int, _ code: Int64) async throws {
        let failure = try await failure(answer(status, try fixture(name)))
        #expect(failure.code == code)
        #expect(failure.name != nil)
        #expect(!failure.message.isEmpty)
    }

    @Test func anUnknownErrorKeepsItsNumber() async throws {
        let failure = try await failure(answer(400, try fixture("apiUnknownError")))
        #expect(failure.code == 9_990_000)
        #expect(failure.name == nil)
        #expect(failure.kind == .refused)
        #expect(!failure.isRetryable)
    }

    @Test func errorsThatAreNotApplesDoNotConfuse() async throws {
        for (status, body, kind, retryable) in [
            (502, "<html>Bad gateway</html>", ServerAPIFailure.Kind.server, true),
            (503, "", .server, true), (404, "not here", .refused, false), (408, "", .refused, true),
            (400, #"{"errorCode":"4000006","errorMessage":7}"#, .refused, false),
            (400, #"{"errorCode":4000006"#, .refused, false), (400, "[1]", .refused, false),
            (500, "\u{FFFD}\u{0}", .server, true), (302, "", .unreadable, false),
        ] {
            let failure = try await failure(answer(status, body, "Content-Type: text/html; charset=utf-8"))
            #expect(failure.kind == kind, "\(status) \(body)")
            #expect(failure.isRetryable == retryable, "\(status) \(body)")
            #expect(failure.code == nil)
            #expect(failure.status == status)
            #expect(!failure.message.isEmpty)
        }
        // And Apple's error under a content type that it should not have.
        let mislabelled = try await failure(
            answer(404, try fixture("transactionIdNotFoundError"), "Content-Type: text/plain"))
        #expect(mislabelled.isTransactionNotFound)
    }

    @Test func anAnswerThatCannotBeReadIsNoAnswer() async throws {
        for body in ["", "<html></html>", "[]", #"{"signedTransactionInfo":null}"#, #"{"other":1}"#, "\u{FFFD}"] {
            let failure = try await failure(answer(200, body, "Content-Type: application/json"))
            #expect(failure.kind == .unreadable, "\(body)")
            #expect(failure.status == 200)
        }
    }

    @Test func unknownMembersDoNoHarm() async throws {
        let body = #"{"new":{"a":[1]},"signedTransactionInfo":"a.b.c"}"#
        try await Stage.with(answering: { _ in answer(200, body, "Content-Type: text/plain") }) { stage in
            let answer = try await stage.client.transaction("1", .support)
            #expect(answer.signedTransactionInfo == "a.b.c")
        }
    }

    @Test("Pitfall 24: a 401 with an empty body names its usual causes")
    func aBare401NamesItsCauses() async throws {
        let production = try await failure(answer(401))
        #expect(production.kind == .unauthorized)
        #expect(!production.isRetryable)
        for cause in ["In-App Purchase key", "never been released", "clock", "issuerId"] {
            check(production.message.contains(cause), cause)
        }
        let sandbox = try await failure(environment: .sandbox, answer(401))
        #expect(!sandbox.message.contains("never been released"))
    }

    @Test("Pitfall 7: no way to Apple is told from Apple's no, and may be tried again")
    func transportTroubleIsRetryableAndDistinct() async throws {
        let cut = try await failure(.answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"))
        #expect(cut.kind == .connectionLost)
        let garbage = try await failure(.answerAndClose("SSH-2.0-OpenSSH\r\n\r\n"))
        #expect(garbage.kind == .unreadable)
        var failures = [cut, garbage]

        try await Stage.with {
            $0.http.totalTimeout = .milliseconds(50)
        } answering: { _ in
            .silence
        } _: { stage in
            let late = try #require(await transactionFailure(stage))
            #expect(late.kind == .timedOut)
            failures.append(late)
        }
        try await Stage.with {
            $0.productionURL = "http://127.0.0.1:1"
        } answering: { _ in
            .silence
        } _: { stage in
            let refused = try #require(await transactionFailure(stage))
            #expect(refused.kind == .unreachable)
            #expect(refused.message.contains("http://127.0.0.1:1"))
            failures.append(refused)
        }
        let plain = try ScriptedServer(greeting: "HTTP/1.1 400 Bad\r\n\r\n") { _ in .silence }
        try await Stage.with {
            $0.productionURL = "https://127.0.0.1:\(plain.port)"
        } answering: { _ in
            .silence
        } _: { stage in
            let tls = try #require(await transactionFailure(stage))
            #expect(tls.kind == .tls)
            failures.append(tls)
        }
        check(failures.allSatisfy { $0.isRetryable && $0.code == nil })
        #expect(Set(failures.map(\.kind)).count == 5)
    }

    private func transactionFailure(_ stage: Stage) async -> ServerAPIFailure? {
        await stage.failure { () async throws(ServerAPIFailure) in try await stage.client.transaction("1", .support) }
    }

    @Test func anAnswerBeyondTheLimitIsRefusedForGood() async throws {
        try await Stage.with {
            $0.http.maximumResponseBytes = 100
        } answering: { _ in
            answer(200, String(repeating: " ", count: 101))
        } _: { stage in
            let failure = try #require(await transactionFailure(stage))
            #expect(failure.kind == .unreadable)
            #expect(!failure.isRetryable)
        }
    }

    @Test func nothingIsTriedAgainSilently() async throws {
        for action in [answer(500), answer(503), answer(429), answer(401), answer(404)] {
            try await Stage.with(answering: { _ in action }) { stage in
                _ = await transactionFailure(stage)
                #expect(stage.requests.count == 1)
            }
        }
    }

    @Test func aTransactionOfTheSandboxIsFoundThere() async throws {
        let found = #"{"signedTransactionInfo":"a.b.c"}"#
        let missing = #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#
        for (production, sandbox, expected) in [
            (answer(200, found), answer(500), StoreEnvironment?.some(.production)),
            (answer(404, missing), answer(200, found), .some(.sandbox)),
            (answer(401), answer(200, found), .some(.sandbox)), (answer(404, missing), answer(404, missing), nil),
            (answer(401), answer(401), nil), (answer(500), answer(200, found), nil),
        ] {
            try await Stage.with(answering: { _ in production }) { here in
                try await Stage.with(environment: .sandbox, answering: { _ in sandbox }) { there in
                    let finder = EnvironmentFinder(production: here.client, sandbox: there.client)
                    var environment: StoreEnvironment?
                    let failure = await here.failure { () async throws(ServerAPIFailure) in
                        environment = try await finder.find("1", .support).environment
                    }
                    #expect(environment == expected)
                    #expect((failure == nil) == (expected != nil))
                    if expected == nil { #expect(there.requests.count <= 1) }
                }
            }
        }
    }

    @Test func aCancelledCallSaysSo() async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        try await Stage.with(answering: { _ in
            asking.yield()
            return .silence
        }) { stage in
            let task = Task { await transactionFailure(stage) }
            for await _ in asked { break }
            task.cancel()
            #expect(await task.value?.kind == .cancelled)
        }
    }

    @Test func callsAreCountedByGroupAndOutcome() async throws {
        try await Stage.with(answering: { _ in answer(404) }) { stage in
            _ = await transactionFailure(stage)
            let text = stage.metrics.exposition()
            for line in [
                #"holdfast_app_store_api_calls_total{environment="production",group="frequent",outcome="refused"} 1"#,
                #"holdfast_app_store_api_calls_total{environment="production",group="frequent",outcome="ok"} 0"#,
                #"holdfast_app_store_api_seconds_count{environment="production",group="frequent"} 1"#,
                #"holdfast_app_store_api_budget_wait_seconds_count{environment="production",priority="support"} 1"#,
            ] { check(text.contains(line), line) }
        }
    }
}
