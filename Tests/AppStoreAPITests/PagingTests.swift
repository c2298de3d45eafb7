import AppStore
import Entitlements
import Runtime
import TestSupport
import Testing
import Time

/// Lists that come in pages, interrupted and resumed.
@Suite(.timeLimit(.minutes(6))) struct PagingTests {
    /// Serves pages 0…last of transaction history, each naming itself.
    private static func pages(
        _ last: Int, failingOnce failing: Int? = nil
    ) -> @Sendable (ScriptedServer.Exchange) -> ScriptedServer.Action {
        let failures = Count()
        return { exchange in
            let line = Request(exchange.request).line
            let revision = line.split(separator: "revision=r", omittingEmptySubsequences: false).dropFirst().first
            let number = revision.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            if number == failing, failures.next() == 1 { return answer(500) }
            return answer(
                200, #"{"signedTransactions":["t\#(number)"],"hasMore":\#(number < last),"revision":"r\#(number + 1)"}"#
            )
        }
    }

    @Test func allPagesAreReadWithAllParametersAndThenItStops() async throws {
        try await Stage.with(answering: Self.pages(3)) { stage in
            var filter = TransactionHistoryFilter()
            filter.productIDs = ["a", "b"]
            var read: [String] = []
            for try await one in try stage.client.history("1", .sweep, filter: filter) {
                read += one.page.signedTransactions
            }
            #expect(read == ["t0", "t1", "t2", "t3"])
            let lines = ["", "&revision=r1", "&revision=r2", "&revision=r3"].map {
                "GET /inApps/v2/history/1?productId=a&productId=b\($0)"
            }
            #expect(stage.requests.map(\.line) == lines)
        }
    }

    @Test func aPositionGoesOnInAnotherProcess() async throws {
        try await Stage.with(answering: Self.pages(3)) { stage in
            var text = try stage.client.start(
                of: ServerAPIRequest(.history, [.init("transactionId", "1"), .init("sort", "DESCENDING")])
            ).text
            var read: [String] = []
            // Each page by somebody who has nothing but the text.
            while true {
                let position = try PagePosition(text: text)
                #expect(position.text == text)
                var pages: ServerAPIPages<HistoryResponse> = try stage.client.pages(resuming: position, .sweep)
                guard let one = try await pages.next() else { break }
                read += one.page.signedTransactions
                text = one.next.text
            }
            #expect(read == ["t0", "t1", "t2", "t3"])
            check(stage.requests.allSatisfy { $0.line.contains("?sort=DESCENDING") })
        }
    }

    @Test func aFailureLeavesThePositionWhereItWas() async throws {
        try await Stage.with(answering: Self.pages(2, failingOnce: 1)) { stage in
            var pages = try stage.client.history("1", .sweep)
            var read: [String] = []
            var failures = 0
            while true {
                do throws(ServerAPIFailure) {
                    guard let one = try await pages.next() else { break }
                    read += one.page.signedTransactions
                } catch {
                    failures += 1
                    #expect(error.isRetryable)
                }
            }
            #expect(failures == 1)
            #expect(read == ["t0", "t1", "t2"])
        }
    }

    @Test(arguments: [1, 2, 3, 7])
    func aServerThatLeadsInACircleIsFoundOut(_ length: Int) async throws {
        let count = Count()
        try await Stage.with(answering: { _ in
            answer(200, #"{"signedTransactions":[],"hasMore":true,"revision":"r\#(count.next() % length)"}"#)
        }) { stage in
            var failure: ServerAPIFailure?
            var pages = try stage.client.history("1", .sweep)
            do throws(ServerAPIFailure) { while try await pages.next() != nil {} } catch { failure = error }
            #expect(failure?.kind == .unreadable)
            #expect(failure?.isRetryable == false)
            #expect(failure?.message.contains("circle") == true)
            #expect(stage.requests.count <= 4 * length + 2)
        }
    }

    @Test(arguments: [
        #"{"signedTransactions":["t"]}"#, #"{"signedTransactions":["t"],"hasMore":"yes","revision":"r"}"#,
        #"{"signedTransactions":["t"],"hasMore":true}"#, #"{"signedTransactions":["t"],"hasMore":true,"revision":""}"#,
    ])
    func aPageThatDoesNotSayHowToGoOnIsGivenAndThenItFails(_ body: String) async throws {
        try await Stage.with(answering: { _ in answer(200, body) }) { stage in
            var pages = try stage.client.history("1", .sweep)
            let first = try await pages.next()
            #expect(first?.page.signedTransactions == ["t"])
            var failure: ServerAPIFailure?
            do throws(ServerAPIFailure) { _ = try await pages.next() } catch { failure = error }
            #expect(failure?.kind == .unreadable)
            #expect(stage.requests.count == 1)
        }
    }

    @Test(arguments: [String(repeating: "t", count: 4097), "a\\u0000b", "a\\u001Bb", "a\u{202E}b", "a\u{9B}b"])
    func anAbsurdTokenIsTheServersMistakeAndIsNotRepeated(_ token: String) async throws {
        let body = #"{"signedTransactions":["t"],"hasMore":true,"revision":"\#(token)"}"#
        try await Stage.with(answering: { _ in answer(200, body) }) { stage in
            var pages = try stage.client.history("1", .sweep)
            #expect(try await pages.next()?.page.signedTransactions == ["t"])
            var failure: ServerAPIFailure?
            do throws(ServerAPIFailure) { _ = try await pages.next() } catch { failure = error }
            #expect(failure?.kind == .unreadable)
            #expect(stage.requests.count == 1)
            let text = try #require(failure?.description)
            check(text.utf8.count < 500 && text.unicodeScalars.allSatisfy(\.isPrintable), text.debugDescription)
        }
    }

    @Test(
        arguments: [
            (
                "transactionHistoryResponseWithMalformedAppAppleId", nil, "LocalTesting",
                ["appAppleId is not a 64-bit integer"]
            ),
            ("transactionHistoryResponseWithMalformedEnvironment", 323_232, "LocalTestingxxx", []),
        ] as [(String, Int64?, String, [String])])
    func aMalformedMemberCostsItselfAndNotThePage(
        _ name: String, _ appAppleID: Int64?, _ environment: String, _ warnings: [String]
    ) async throws {
        let body = try fixture(name)
        try await Stage.with(answering: { _ in answer(200, body) }) { stage in
            var pages = try stage.client.history("1", .sweep)
            let page = try #require(try await pages.next()?.page)
            #expect(page.appAppleID == appAppleID)
            #expect(page.environment == environment)
            #expect(page.signedTransactions.count == 2)
            #expect(page.warnings.map(\.description) == warnings)
        }
    }

    @Test func notificationsRepeatTheirBodyAndCarryTheTokenInTheQuery() async throws {
        let count = Count()
        try await Stage.with(answering: { _ in
            let number = count.next()
            return answer(
                200, #"{"notificationHistory":[],"hasMore":\#(number < 3),"paginationToken":"t/\#(number)"}"#)
        }) { stage in
            let range = NotificationHistoryFilter(
                from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2))
            for try await _ in try stage.client.notifications(range, .sweep) {}
            let lines = ["", "?paginationToken=t%2F1", "?paginationToken=t%2F2"].map {
                "POST /inApps/v1/notifications/history\($0)"
            }
            #expect(stage.requests.map(\.line) == lines)
            #expect(Set(stage.requests.map(\.body)) == [#"{"startDate":1,"endDate":2}"#])
        }
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"position":2}"#, "x",
        #"{"position":1,"bundleId":"b","environment":"production","endpoint":"history","values":[["transactionId",".."]]}"#,
        #"{"position":1,"bundleId":"b","environment":"production","endpoint":"transaction","values":[["transactionId","1"]]}"#,
        #"{"position":1,"bundleId":"b","environment":"xcode","endpoint":"history","values":[["transactionId","1"]]}"#,
    ])
    func aTextThatIsNoPositionIsRefused(_ text: String) {
        #expect(throws: ServerAPIFailure.self) { try PagePosition(text: text) }
    }

    @Test func aPositionOfAnotherEnvironmentIsRefused() async throws {
        try await Stage.with(environment: .sandbox, answering: { _ in answer(500) }) { there in
            try await Stage.with(answering: { _ in answer(500) }) { here in
                let position = try here.client.history("1", .sweep).position
                #expect(throws: ServerAPIFailure.self) {
                    let _: ServerAPIPages<HistoryResponse> = try there.client.pages(resuming: position, .sweep)
                }
            }
        }
    }
}
